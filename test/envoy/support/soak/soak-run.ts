import { playPlan, type Played } from '../../../play/play.ts';
import { allHave, untilTrue } from '../../../play/disasters.ts';
import { makeRealPlan } from '../../../play/real-plan.ts';
import { quantile } from '../../../support/quantile.ts';
import { attacksOf, disastersOf, outageOf, replacedIn } from './disasters.ts';
import { probe } from './probe.ts';
import { readProcesses, type Reading } from './readings.ts';
import { services, type SoakWorld, startSoakWorld } from './soak-world.ts';

export interface SoakPlan {
  readonly seed: number;
  /** Of the plan that is played in each cycle. */
  readonly requests: number;
  readonly probes: number;
}

/** A plan that was played, and then a rest in which everything is read. */
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
  /** Requests by surface, form and what is asked for. */
  readonly asked: Readonly<Record<string, number>>;
  readonly rows: number;
  /** What callers were told, and what the rows of these answers cost. */
  readonly told: bigint;
  readonly billed: bigint;
  /** What is wrong: a sentence each. */
  readonly wrong: readonly string[];
}

const perSecond = 25;
/** Far above the requests of a cycle: numbers are not used twice. */
const idsPerCycle = 1_000_000;

/**
 * Plays plans, with a rest after each, for as long as somebody asks for the next cycle. Throws when the gateway does not come to rest,
 * loses a process, or does not answer a probe.
 */
export async function* runSoak(soak: SoakPlan): AsyncGenerator<SoakCycle, never> {
  const world = await startSoakWorld();
  try {
    const begunMs = performance.now();
    for (let number = 0; ; number += 1) {
      const pids = world.gateway.processes();
      const replaced = replacedIn(number);
      const played = await play(world, soak, number);
      await untilAtRest(world);
      expectNoOtherEnds(world, { pids, replaced });
      const { p50Ms, p99Ms, machineP50Ms } = await probe({
        ...{ origin: new URL(world.gateway.baseUrl).origin, key: world.probeKey, count: soak.probes },
        machineUrl: `http://127.0.0.1:${world.engines[0]?.port}/health`,
      });
      await untilAtRest(world);
      yield {
        at: (performance.now() - begunMs) / 60_000,
        ...{ stormSeconds: played.seconds, replaced, books: booksOf(played) },
        readings: [
          ...(await readProcesses(world)),
          { of: 'gateway', figure: 'probe p50', value: p50Ms },
          { of: 'gateway', figure: 'probe p99', value: p99Ms },
          { of: 'gateway', figure: 'p50 in the storm', value: medianOfWholeAnswers(played) },
          { of: 'machine', figure: 'without the gateway', value: machineP50Ms },
        ],
      };
    }
  } finally {
    await world.close();
  }
}

/** Plays the plan of a cycle while attackers of two kinds are there. */
async function play(world: SoakWorld, { seed, requests }: SoakPlan, cycle: number): Promise<Played> {
  const { postgres, attackers } = world;
  const plan = makeRealPlan({
    ...{ seed: seed + cycle, requests, services, perSecond },
    ...{ happens: disastersOf(cycle), firstId: 1 + cycle * idsPerCycle },
  });
  attackers.start(attacksOf(cycle));
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await attackers.stop();
    isStopped = true;
  };
  const outage = outageOf(cycle);
  return playPlan(
    plan,
    {
      ...world,
      takeDatabase: async () => {
        await postgres[outage]();
        return outage === 'freeze' ? postgres.thaw : postgres.start;
      },
    },
    async (isOver) => {
      await untilTrue('the plan is played', async () => isOver(), 600_000);
      await stop();
    },
  );
}

/** Envoy has nothing under way: an open stream would be a leak. */
async function untilAtRest({ admin, gateways }: SoakWorld): Promise<void> {
  await untilTrue('no stream is open', () => allHave(gateways, 'weir_ext_proc_streams', 0));
  await untilTrue('Envoy has no open request', async () => (await admin.openRequests()) === 0);
  await untilTrue('Envoy has no request on its way', async () => {
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

function booksOf({ calls, rows, told, billed, wrong }: Played): Books {
  const asked: Record<string, number> = {};
  for (const { event } of calls) {
    const kind = `${event.surface}, ${event.stream ? 'stream' : 'whole answer'}, ${event.search === undefined ? event.ask : 'search'}`;
    asked[kind] = (asked[kind] ?? 0) + 1;
  }
  return { asked, rows: rows.length, told, billed, wrong };
}

function medianOfWholeAnswers({ calls }: Played): number {
  const times = calls
    .filter(({ event, status }) => !event.stream && event.directive?.on === undefined && status() === 200)
    .map((call) => call.endedAt() - call.startedAt);
  return quantile(times, 0.5);
}
