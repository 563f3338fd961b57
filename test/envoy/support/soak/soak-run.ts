import { chanceFrom, type Chance } from '../../../support/chance.ts';
import type { LedgerRow } from '../../../support/weir.ts';
import { quantile } from '../../../support/quantile.ts';
import { picoUsd } from '../cost.ts';
import { checkBooks } from '../money-storm/check-books.ts';
import { readStormAnswer } from '../money-storm/storm-answer.ts';
import type { StormRecord } from '../money-storm/storm-caller.ts';
import { stormPrices } from '../money-storm/storm-catalog.ts';
import { stormRequests } from '../money-storm/storm-kinds.ts';
import { runStorm, type StormOptions } from '../money-storm/storm-run.ts';
import { type Broken, disasters } from './disasters.ts';
import { probe } from './probe.ts';
import { readProcesses, type Reading } from './readings.ts';
import { soakKinds, soakModels } from './soak-kinds.ts';
import { searchPicoUsd, services, type SoakWorld, startSoakWorld, until } from './soak-world.ts';

export interface SoakPlan {
  readonly seed: number;
  /** Of the storm in each cycle. */
  readonly requests: number;
  readonly probes: number;
}

/** A storm with its disasters, and then a rest in which everything is read. */
export interface SoakCycle {
  /** Minutes from the begin of the soak to the rest. */
  readonly at: number;
  readonly stormSeconds: number;
  readonly readings: readonly Reading[];
  /** What began anew in this cycle. */
  readonly replaced: readonly string[];
  readonly books: Books;
}

/** The books of one cycle: 10⁻¹² USD. */
export interface Books {
  /** Requests of the storm by kind, those that were turned away for now among them. */
  readonly asked: Readonly<Record<string, number>>;
  readonly rows: number;
  /** What callers were told, and what the rows of these answers cost. */
  readonly told: bigint;
  readonly billed: bigint;
  /** What is wrong: a sentence each. */
  readonly wrong: readonly string[];
}

const lanes = 24;

/**
 * Storms and rests by turns, for as long as somebody asks for the next cycle. Throws when the gateway does not come to rest, loses a
 * process, or does not answer a probe.
 */
export async function* runSoak(plan: SoakPlan): AsyncGenerator<SoakCycle, never> {
  const world = await startSoakWorld();
  try {
    const chance = chanceFrom(plan.seed);
    const begunMs = performance.now();
    let spent = 0n;
    for (let number = 0; ; number += 1) {
      const pids = world.gateway.processes();
      const since = new Date().toISOString();
      const storm = await stormOf(world, plan, { number, chance });
      await untilAtRest(world);
      expectNoOtherEnds(world, { pids, replaced: storm.replaced });
      const { books, cost } = await booksOf(world, { storm, since });
      spent += cost;
      const wrong = [...books.wrong, ...(await wrongSums(world, spent))];
      const { p50Ms, p99Ms, machineP50Ms } = await probe({
        ...{ origin: new URL(world.gateway.baseUrl).origin, key: world.probeKey, count: plan.probes },
        machineUrl: `http://127.0.0.1:${world.engines[0].port}/health`,
      });
      await untilAtRest(world);
      yield {
        at: (performance.now() - begunMs) / 60_000,
        ...{ stormSeconds: storm.seconds, replaced: storm.replaced, books: { ...books, wrong } },
        readings: [
          ...(await readProcesses(world)),
          { of: 'gateway', figure: 'probe p50', value: p50Ms },
          { of: 'gateway', figure: 'probe p99', value: p99Ms },
          { of: 'gateway', figure: 'p50 in the storm', value: medianOfWholeAnswers(storm.records) },
          { of: 'machine', figure: 'without the gateway', value: machineP50Ms },
        ],
      };
    }
  } finally {
    await world.close();
  }
}

interface Storm extends Broken {
  readonly records: readonly StormRecord[];
  readonly seconds: number;
}

/** A storm, for as long as the engines live: without them its callers would come again and again. */
async function underWay({ engines }: SoakWorld, options: StormOptions): Promise<readonly StormRecord[]> {
  const ends = engines.map(async ({ ended }) => {
    await ended;
    throw new Error('an engine ended by itself');
  });
  return Promise.race([runStorm(options), ...ends]);
}

async function stormOf(
  world: SoakWorld,
  { requests: count }: SoakPlan,
  { number, chance }: { readonly number: number; readonly chance: Chance },
): Promise<Storm> {
  for (const engine of world.engines) await engine.reset();
  const begunMs = performance.now();
  let broken: Broken | undefined;
  const records = await underWay(world, {
    ...{ requests: stormRequests(count, chance, soakKinds), callers: [world.caller], keys: world.accounts.keys },
    ...{ lanes, chance, round: number },
    disasters: async (progress) => {
      broken = await disasters(world, progress, { cycle: number, requests: count });
    },
  });
  if (broken === undefined) throw new Error('the disasters did not come to their end');
  return { ...broken, records, seconds: (performance.now() - begunMs) / 1000 };
}

/** All services serve, nothing is under way in them or in Envoy, and nothing waits to be written: an open stream would be a leak. */
async function untilAtRest({ admin, allHave, metrics }: SoakWorld): Promise<void> {
  await until('all services serve', async () => (await metrics()).length === services);
  await until('the database is here', () => allHave('weir_ledger_database', 1, { state: 'here' }));
  await until('the limits are shared', () => allHave('weir_limits_shared', 1));
  for (const gauge of [
    'requests_in_flight',
    'ext_proc_streams',
    'uploads_in_flight',
    'upload_memory_bytes',
    'ledger_waiting_rows',
  ]) {
    await until(`weir_${gauge} is 0`, () => allHave(`weir_${gauge}`, 0));
  }
  await until('Envoy has no open request', async () => (await admin.openRequests()) === 0);
  await until('Envoy has no request on its way', async () => {
    const gauges = await admin.statsLike(String.raw`^cluster\..*upstream_rq_(pending_)?active$`);
    // Its own streams of endpoint discovery are always there.
    return [...gauges].every(([name, value]) => value === 0 || name.startsWith('cluster.weir-discovery'));
  });
}

/** A process that ended by itself was replaced by `weir start`, and callers may not have noticed. */
function expectNoOtherEnds(
  { gateway }: SoakWorld,
  before: { readonly pids: Readonly<Record<string, number>>; readonly replaced: readonly string[] },
): void {
  const now = gateway.processes();
  for (const [name, pid] of Object.entries(before.pids)) {
    if (now[name] !== pid && !before.replaced.includes(name)) throw new Error(`${name} ended, and nobody killed it`);
  }
}

async function booksOf(
  { accounts, engines }: SoakWorld,
  { storm, since }: { readonly storm: Storm; readonly since: string },
): Promise<{ readonly books: Books; readonly cost: bigint }> {
  const { records, kills } = storm;
  const rows = (await accounts.rows(since)).filter(({ workspace }) => workspace === 'storm' || workspace === 'broke');
  const dispatched = new Set((await Promise.all(engines.map((engine) => engine.notes()))).flat());
  for (const { mark, request } of records) {
    // What an engine has recorded goes with it.
    if (request.model === soakModels.killed) dispatched.add(mark);
  }
  const wrong = checkBooks({
    ...{ records, rows, dispatched, kills, prices: { ...stormPrices, search: searchPicoUsd } },
    keyExpiresMs: accounts.keyExpiresAt - performance.timeOrigin,
  });
  const byMark = new Map<unknown, LedgerRow>(rows.map((row) => [row['correlation_id'], row]));
  let [told, billed] = [0n, 0n];
  const asked: Record<string, number> = {};
  for (const record of records) {
    asked[record.request.kind] = (asked[record.request.kind] ?? 0) + 1;
    const answer = readStormAnswer(record);
    if (answer.kind !== 'billed') continue;
    told += answer.cost;
    billed += picoUsd(byMark.get(record.mark)?.['cost'] ?? '0');
  }
  const cost = rows.reduce((sum, row) => sum + picoUsd(row['cost']), 0n);
  return { books: { asked, rows: rows.length, told, billed, wrong }, cost };
}

/** Holds the balance and the whole ledger against everything that was spent so far. */
async function wrongSums({ accounts }: SoakWorld, spent: bigint): Promise<readonly string[]> {
  const [drop, difference] = [await accounts.drop(), await accounts.difference()];
  return [
    ...(drop === spent ? [] : [`the rows cost ${spent}, and the balance dropped by ${drop}`]),
    ...(difference === 0n ? [] : [`weir ledger verify finds a difference of ${difference}`]),
  ];
}

function medianOfWholeAnswers(records: readonly StormRecord[]): number {
  const times = records
    .filter(({ request, status }) => request.kind === 'whole answer' && status === 200)
    .map(({ sentMs, endedMs }) => endedMs - sentMs);
  return quantile(times, 0.5);
}
