import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import { listRequests } from '../../src/books/ledger/list-requests.ts';
import { parseUsd } from '../../src/core/money.ts';
import type { SettledRequest } from '../../src/core/settled-request.ts';
import type { Call } from '../simulation/caller.ts';
import type { WorldPlan } from '../simulation/events.ts';
import { createInvariants } from '../simulation/invariants.ts';
import { reservationsLeft } from '../simulation/leftovers.ts';
import { readAnswer } from '../simulation/received-answer.ts';
import { hasVectors, piecesOf } from '../simulation/vectors.ts';
import { metricIn } from '../support/metric-in.ts';
import { checkRows } from './check-rows.ts';
import { type Surroundings, untilHealed, untilTrue } from './disasters.ts';
import { type RealWorld, startRealWorld } from './real-world.ts';

/** A plan that was played to its end. */
export interface Played {
  /** Promises that were not kept: a sentence each, with the newest lines about the first of them. */
  readonly wrong: readonly string[];
  /** How often each thing occurred: `status 200`, `left`, `cancelled` (of a row), `continued`, `searched`. */
  readonly seen: ReadonlyMap<string, number>;
  readonly calls: readonly Call[];
  readonly rows: readonly SettledRequest[];
  /** What callers were told that their answers cost, and what the rows of these answers say: 10⁻¹² USD. */
  readonly told: bigint;
  readonly billed: bigint;
  readonly seconds: number;
}

/** Of a service at rest each of them is 0. */
const gauges = [
  ...(['requests_in_flight', 'ext_proc_streams', 'uploads_in_flight'] as const),
  ...(['upload_memory_bytes', 'ledger_waiting_rows'] as const),
] as const;

/** Longest time in which a world comes to rest when its last event has happened: an answer in one piece may stall on each route. */
const restMs = 120_000;

/** Plays a plan on real processes, and checks what the simulation checks. `beside`: runs until the last event has happened. */
export async function playPlan(
  plan: WorldPlan,
  surroundings: Surroundings & { readonly location: DatabaseLocation },
  beside: (isOver: () => boolean) => Promise<void> = () => Promise.resolve(),
): Promise<Played> {
  const begunMs = performance.now();
  const world = await startRealWorld(plan, surroundings);
  try {
    const invariants = createInvariants(world);
    const hasFailed = (): boolean => invariants.violations().length > 0;
    let hasHappened = false;
    let isAtRest = false;
    const work = Promise.all([
      world.happened.finally(() => (hasHappened = true)),
      beside(() => hasHappened || hasFailed()),
    ]).then(() => untilRest(world, surroundings));
    void work.catch(() => undefined).finally(() => (isAtRest = true));
    await world.time.run(() => isAtRest || hasFailed(), invariants.check);
    if (hasFailed()) await untilHealed(surroundings);
    else {
      await work;
      await invariants.checkRest();
    }
    const database = world.database();
    const rows =
      database === undefined ? [] : await listRequests(database.queries, { since: world.plan.startsAt }, 100_000);
    const wrong = invariants
      .violations()
      .map(
        ({ invariant, text, atMs, request }) =>
          `${atMs.toFixed(0)} ms${request === undefined ? '' : `, request ${request}`}: ${invariant}: ${text}`,
      );
    checkRows(rows, world, (_, text, request) => void wrong.push(`request ${request}: ${text}`));
    const first = invariants.violations().find(({ request }) => request !== undefined)?.request;
    if (first !== undefined) wrong.push(...world.scheduler.log.about(`r${first} `).slice(-10));
    return {
      wrong,
      rows,
      calls: world.calls,
      seconds: (performance.now() - begunMs) / 1_000,
      ...summaryOf(world, rows),
    };
  } finally {
    await world.stop();
  }
}

/** Waits until every call has ended, and nothing of any is left. What is left after some time is a violation. */
async function untilRest(world: RealWorld, surroundings: Surroundings): Promise<void> {
  const { gateways, engines } = surroundings;
  await untilHealed(surroundings);
  const leftovers = async (): Promise<Readonly<Record<string, number>>> => {
    const texts = await gateways.metrics();
    const sum = (name: string): number => texts.reduce((total, text) => total + metricIn(text, `weir_${name}`), 0);
    return Object.fromEntries(gauges.map((name) => [name, sum(name)]));
  };
  const database = world.database();
  await untilTrue(
    'the world is at rest',
    async () => {
      const left = await leftovers();
      world.noteLeftovers(left);
      return (
        world.calls.every((call) => call.end() !== 'open') &&
        Object.values(left).every((count) => count === 0) &&
        engines.every((engine) => engine.open() === 0) &&
        database !== undefined &&
        (await reservationsLeft(world, database)).length === 0
      );
    },
    restMs,
  ).catch(() => undefined);
}

function summaryOf(
  { calls, continued }: RealWorld,
  rows: readonly SettledRequest[],
): Pick<Played, 'seen' | 'told' | 'billed'> {
  const seen = new Map<string, number>();
  const see = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  const byId = new Map(rows.map((row) => [row.requestId, row]));
  let [told, billed] = [0n, 0n];
  for (const call of calls) {
    const status = call.status();
    see(call.end());
    if (status !== undefined) see(`status ${status}`);
    if (status !== 200 || call.end() !== 'ended') continue;
    const { id, cost, end } = readAnswer(call.event, call.body(), true);
    see(end);
    if (hasVectors(call.event)) {
      const { vectors } = call.event;
      see(`${vectors.encoding === 'ranks' ? 'ranks' : 'vectors'}${piecesOf(vectors) > 1 ? ' in pieces' : ''}`);
    }
    const row = byId.get(id ?? '');
    if (cost === undefined || row === undefined) continue;
    told += parseUsd(cost) ?? 0n;
    billed += row.cost;
  }
  for (const { kind, attempts, usage } of rows) {
    see(kind);
    if (attempts > 1) see('several attempts');
    if ((usage.webSearches ?? 0) > 0) see('searched');
  }
  for (const _ of continued) see('continued');
  return { seen, told, billed };
}
