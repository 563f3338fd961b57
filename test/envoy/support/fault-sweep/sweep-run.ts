import type { SweepAnswer } from './sweep-answer.ts';
import { directiveOf, type SweepCase } from './sweep-faults.ts';
import type { SweepAsk, SweepGateway } from './sweep-gateway.ts';

/** What the two engines were asked for one request: the bodies. */
export interface AskedOf {
  readonly broken: readonly unknown[];
  readonly spare: readonly unknown[];
}

/** A case, how it came out, and whether the fault was met at all. */
export interface Tried {
  readonly swept: SweepCase;
  readonly answer: SweepAnswer;
  readonly asked: AskedOf;
  readonly tookMs: number;
}

/** Sends the request of a case, by whatever client. */
export type AskCase = (ask: SweepAsk) => Promise<{ readonly status: number; readonly body: string }>;

/** Requests at a time, unless told. */
const usualAtOnce = 16;

/**
 * A case may meet an engine that is not the one to break; it is tried again. Of two endpoints either may be the first, and that
 * for thousands of cases: a dozen tries would leave one out in every other run.
 */
const mostTries = 30;

function noteIn(body: unknown): string | undefined {
  return /\\"note\\":\\"([^"\\]+)\\"/.exec(JSON.stringify(body))?.[1];
}

function askedByNote(gateway: SweepGateway): ReadonlyMap<string, AskedOf> {
  const asked = new Map<string, { readonly broken: unknown[]; readonly spare: unknown[] }>();
  for (const engine of ['broken', 'spare'] as const) {
    for (const { body } of gateway[engine].requests()) {
      const note = noteIn(body);
      if (note === undefined) continue;
      const of = asked.get(note) ?? { broken: [], spare: [] };
      of[engine].push(body);
      asked.set(note, of);
    }
  }
  return asked;
}

let runs = 0;

/** Tries all cases, so many at a time. A case whose fault was not met is tried again on another route. */
export async function runSweep(
  gateway: SweepGateway,
  cases: readonly SweepCase[],
  options: { readonly ask?: AskCase; readonly atOnce?: number } = {},
): Promise<readonly Tried[]> {
  const { broken, spare, takeModel, renew, weir, surface } = gateway;
  const { ask = gateway.ask, atOnce = usualAtOnce } = options;
  const tried = new Map<SweepCase, Tried>();
  const rows = new Map<string, SweepAnswer['rows'][number][]>();
  let left = cases;
  for (let round = 0; left.length > 0 && round < mostTries; round += 1) {
    const counts = Map.groupBy(left, ({ reference }) => reference.shape);
    await renew(new Map([...counts].map(([shape, some]) => [shape, some.length])));
    broken.reset();
    spare.reset();
    const run = `sweep-${(runs += 1)}`;
    const answers: { swept: SweepCase; id: string; status: number; body: string; tookMs: number }[] = [];
    const queue = left.entries();
    const worker = async (): Promise<void> => {
      for (const [at, swept] of queue) {
        const { shape } = swept.reference;
        const id = `${run}-${at}`;
        const directive = { ...directiveOf(swept), note: id };
        const begun = performance.now();
        const answer = await ask({ shape, model: takeModel(shape), stream: swept.stream, id, directive });
        answers.push({ swept, id, ...answer, tookMs: performance.now() - begun });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    await weir.settled();
    for (const row of await weir.ledger()) {
      const id = String(row['correlation_id']);
      if (id.startsWith(`${run}-`)) rows.set(id, [...(rows.get(id) ?? []), row]);
    }
    const byNote = askedByNote(gateway);
    for (const { swept, id, status, body, tookMs } of answers) {
      const asked = byNote.get(id) ?? { broken: [], spare: [] };
      tried.set(swept, { swept, answer: { surface, status, body, rows: rows.get(id) ?? [] }, asked, tookMs });
    }
    left = cases.filter((swept) => tried.get(swept)?.asked.broken.length === 0);
  }
  return [...tried.values()];
}
