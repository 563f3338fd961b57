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

/** Requests at a time. */
const atOnce = 16;

/**
 * A case may meet an engine that is not the one to break; it is tried again. On a busy machine, the endpoint that breaks can look like
 * the later one for some rounds.
 */
const mostRounds = 40;
/**
 * How often each case that is left is tried in a round. A round takes a second of its own, for models that no fault has met and for the
 * ledger, so the few that are left after some rounds are tried several times in each.
 */
const triesIn = (round: number): number => Math.min(8, 2 ** round);

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

/**
 * Tries all cases. A case whose fault was not met is tried again on another route. What is returned holds every try
 * that met its fault, and the last one of a case that never did.
 */
export async function runSweep(
  gateway: SweepGateway,
  cases: readonly SweepCase[],
  ask: AskCase = gateway.ask,
): Promise<readonly Tried[]> {
  const { broken, spare, takeModel, renew, weir } = gateway;
  const met: Tried[] = [];
  const rows = new Map<string, SweepAnswer['rows'][number][]>();
  let left: ReadonlyMap<SweepCase, Tried | undefined> = new Map(cases.map((swept) => [swept, undefined]));
  for (let round = 0; left.size > 0 && round < mostRounds; round += 1) {
    const tries = Array.from({ length: triesIn(round) }, () => [...left.keys()]).flat();
    const counts = Map.groupBy(tries, ({ reference }) => reference.shape);
    await renew(new Map([...counts].map(([shape, some]) => [shape, some.length])));
    broken.reset();
    spare.reset();
    const run = `sweep-${(runs += 1)}`;
    const answers: { swept: SweepCase; id: string; status: number; body: string; tookMs: number }[] = [];
    const queue = tries.entries();
    const worker = async (): Promise<void> => {
      for (const [at, swept] of queue) {
        const { shape } = swept.reference;
        const id = `${run}-${at}`;
        const directive = { ...directiveOf(swept), note: id };
        const begun = performance.now();
        const answer = await ask({ shape, model: takeModel(shape), id, directive });
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
    const missed = new Map<SweepCase, Tried>();
    for (const { swept, id, status, body, tookMs } of answers) {
      const asked = byNote.get(id) ?? { broken: [], spare: [] };
      const tried = { swept, answer: { status, body, rows: rows.get(id) ?? [] }, asked, tookMs };
      if (asked.broken.length > 0) met.push(tried);
      else missed.set(swept, tried);
    }
    for (const { swept } of met) missed.delete(swept);
    left = missed;
  }
  return [...met, ...[...left.values()].filter((tried) => tried !== undefined)];
}
