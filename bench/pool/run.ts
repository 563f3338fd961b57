import { type Chance, chanceFrom } from '../../test/support/chance.ts';
import { createEventQueue } from '../event-queue.ts';
import { createBalance, lookMs } from './balance.ts';
import { createEngine, type CreateEngine, type Engine, type EngineSpeed, type EngineState } from './engine.ts';
import type { PoolReport } from '../../src/gateway/core/pool-report.ts';
import type { Load, PoolRequest } from './request.ts';

/** What a policy is given to decide with. It must not look at the truth, unless it is the oracle. */
export interface PolicyOptions {
  readonly endpoints: number;
  readonly blockTokens: number;
  /** See `Pool`. */
  readonly counted: number;
  readonly chance: Chance;
  readonly now: () => number;
  readonly truth: (endpoint: number) => EngineState;
  /** Calls a function after some time, unless the replica is lost until then. */
  readonly after: (ms: number, run: () => void) => void;
  readonly channel: ReplicaChannel<PoolReport>;
}

/** Picks the endpoint of each request, and is told what a gateway observes. */
export interface Policy {
  readonly pick: (request: PoolRequest, present: readonly number[]) => number;
  readonly first: (request: PoolRequest, endpoint: number, cachedTokens: number) => void;
  readonly ended: (request: PoolRequest, endpoint: number, end: 'complete' | 'lost') => void;
}

/** The way from one replica to the others. */
export interface ReplicaChannel<Message> {
  readonly send: (message: Message) => void;
  /** `take` is called with the replica's number. */
  readonly listen: (take: (from: string, message: Message) => void) => void;
}

export type CreatePolicy = (options: PolicyOptions) => Policy;

/** Something that happens to the pool at a time. */
export interface PoolChange {
  readonly atMs: number;
  readonly kind: 'lost' | 'added' | 'replica-lost' | 'slowed' | 'failing' | 'recovered';
  /** An endpoint, or a replica of the gateway. */
  readonly index: number;
}

/** Steps of an endpoint that is slowed take so many times longer. */
const slowedFactor = 8;
/** A failing endpoint refuses this share of its requests, after so long. */
const failing = { share: 0.4, afterMs: 100 } as const;

export interface Pool {
  readonly engines: readonly EngineSpeed[];
  /** Default: an engine that computes prompts one after the other. */
  readonly createEngine?: CreateEngine;
  /** Replicas of the gateway, which take turns. Each has a policy of its own. */
  readonly replicas: number;
  readonly changes: readonly PoolChange[];
  /** How many tokens the gateway counts for one of the engines. Default: 1, as with the model's tokenizer. */
  readonly counted?: number;
}

export interface RunResult {
  /** Times to the first token of the measured requests that went through the gateway, ms, ascending. */
  readonly firstMs: readonly number[];
  readonly requestsPerSecond: number;
  readonly inputPerSecond: number;
  readonly outputPerSecond: number;
  readonly cachedShare: number;
  /** Input tokens computed by the busiest endpoint ÷ those of the mean. */
  readonly imbalance: number;
  /** See `Balance`. */
  readonly unevenShare: number;
  /** Attempts that a failing endpoint refused ÷ requests. */
  readonly failures: number;
}

interface Sent {
  readonly request: PoolRequest;
  readonly sentAt: number;
  readonly session: number;
  readonly index: number;
  readonly past: number | undefined;
  replica: number;
  endpoint: number;
  firstAt: number | undefined;
  endedAt: number | undefined;
  cached: number;
}

export interface RunOptions {
  readonly create: CreatePolicy;
  readonly seed: number;
  /** A run ends as soon as more than this share of all requests have waited longer than this. */
  readonly mostLate?: { readonly ms: number; readonly share: number } | undefined;
}

/** How long a run may go on after its last request was sent, in ms of the simulation, for a policy that falls behind. */
const mostDrainMs = 3_600_000;

/** How long a report is under way between two replicas, ms. */
const betweenReplicasMs = 2;

/** Runs a load over a pool. The same seed gives the same result. */
export function runPool(load: Load, pool: Pool, { create, seed, mostLate }: RunOptions): RunResult {
  const chance = chanceFrom(seed);
  const queue = createEventQueue();
  let now = 0;
  const sent = new Map<number, Sent>();
  const added = new Set(pool.changes.filter(({ kind }) => kind === 'added').map(({ index }) => index));
  let present = pool.engines.map((_, index) => index).filter((index) => !added.has(index));
  const { createEngine: begin = createEngine, counted = 1 } = pool;
  const engines: readonly Engine[] = pool.engines.map((speed, endpoint) =>
    begin(speed, load.blockTokens, {
      first: (request, at, cachedTokens) => {
        const one = sent.get(request.id);
        if (one === undefined) return;
        if (one.firstAt === undefined) {
          one.firstAt = at;
          if (isMeasured(one)) unanswered -= 1;
          if (isMeasured(one) && at - one.sentAt > (mostLate?.ms ?? Infinity)) late += 1;
        }
        one.cached = cachedTokens;
        balance.computed(at, endpoint, request.promptTokens - cachedTokens);
        policyOf(one)?.first(request, endpoint, cachedTokens);
      },
      ended: (request, at) => {
        const one = sent.get(request.id);
        if (one === undefined) return;
        one.endedAt = at;
        policyOf(one)?.ended(request, endpoint, 'complete');
        follow(one);
      },
    }),
  );
  const balance = createBalance(engines, load.measured);
  const truth = (endpoint: number): EngineState => {
    const engine = engines[endpoint];
    if (engine === undefined) throw new Error(`no endpoint ${endpoint}`);
    return engine.state();
  };
  const replicas = Array.from({ length: pool.replicas }, (_, index) => index);
  let serving: readonly number[] = replicas;
  let failures = 0;
  const failingEndpoints = new Set<number>();
  const listeners = new Map<number, (from: string, report: PoolReport) => void>();
  const later = (replica: number, ms: number, run: () => void): void =>
    queue.add(now + ms, () => {
      if (serving.includes(replica)) run();
    });
  const channelOf = (replica: number): ReplicaChannel<PoolReport> => ({
    listen: (take) => void listeners.set(replica, take),
    send: (report) => {
      if (!serving.includes(replica)) return;
      for (const [other, take] of listeners)
        if (other !== replica) later(other, betweenReplicasMs, () => take(String(replica), report));
    },
  });
  const options = { endpoints: engines.length, blockTokens: load.blockTokens, counted, now: () => now, truth };
  const policies = replicas.map((replica) =>
    create({
      ...options,
      chance: chanceFrom(seed * 1000 + replica + 1),
      after: (ms, run) => later(replica, ms, run),
      channel: channelOf(replica),
    }),
  );
  const policyOf = ({ past, replica }: Sent): Policy | undefined =>
    past === undefined ? policies[replica] : undefined;
  let turn = 0;
  let open = 0;
  /** Measured requests without a first token, and those whose first token was late. */
  let unanswered = 0;
  let late = 0;
  const isMeasured = ({ past, sentAt }: Sent): boolean =>
    past === undefined && sentAt >= load.measured.fromMs && sentAt < load.measured.toMs;
  const lateBound = (mostLate?.share ?? 1) * load.sessions.reduce((sum, { requests }) => sum + requests.length, 0);

  function nextStep(endpoint: number): void {
    const at = engines[endpoint]?.nextAt() ?? Infinity;
    if (at === Infinity || scheduled[endpoint] === at) return;
    scheduled[endpoint] = at;
    queue.add(at, () => {
      // A step that was cut short has another event.
      if (engines[endpoint]?.nextAt() !== at) return;
      scheduled[endpoint] = undefined;
      engines[endpoint]?.advance(at);
      nextStep(endpoint);
    });
  }
  const scheduled: (number | undefined)[] = engines.map(() => undefined);

  function dispatch(one: Sent): void {
    const replica = serving[turn % serving.length] ?? 0;
    turn += 1;
    one.replica = replica;
    one.endpoint = one.past ?? policies[replica]?.pick(one.request, present) ?? 0;
    if (failingEndpoints.has(one.endpoint) && chance.next() < failing.share) {
      queue.add(now + failing.afterMs, () => {
        failures += 1;
        policyOf(one)?.ended(one.request, one.endpoint, 'lost');
        dispatch(one);
      });
      return;
    }
    engines[one.endpoint]?.submit(one.request, now);
    nextStep(one.endpoint);
  }

  function send(session: number, index: number): void {
    const { requests, past } = load.sessions[session] ?? {};
    const request = requests?.[index]?.request;
    if (request === undefined) return;
    const one: Sent = {
      ...{ request, sentAt: now, session, index, past, replica: 0, endpoint: 0 },
      ...{ firstAt: undefined, endedAt: undefined, cached: 0 },
    };
    sent.set(request.id, one);
    if (isMeasured(one)) unanswered += 1;
    dispatch(one);
  }

  /** Requests of each session that have not ended, and when the session began. */
  const left = load.sessions.map(({ requests }) => requests.length);
  const begunAt: number[] = [];
  let nextSession = 0;

  function startSession(session: number): void {
    open += 1;
    begunAt[session] = now;
    for (const [index, { after, atMs }] of (load.sessions[session]?.requests ?? []).entries()) {
      if (after === undefined) queue.add(now + atMs, () => send(session, index));
    }
  }

  function follow({ session, index }: Sent): void {
    left[session] = (left[session] ?? 1) - 1;
    for (const [other, { after, atMs, pauseMs }] of (load.sessions[session]?.requests ?? []).entries()) {
      if (after !== index) continue;
      queue.add(Math.max(now + pauseMs, (begunAt[session] ?? 0) + atMs), () => send(session, other));
    }
    if (left[session] !== 0) return;
    open -= 1;
    if (load.arrivals.kind === 'closed' && nextSession < load.sessions.length) startSession(nextSession++);
  }

  if (load.arrivals.kind === 'open') {
    for (const [session, at] of load.arrivals.startMs.entries()) queue.add(at, () => startSession(session));
  } else {
    while (nextSession < Math.min(load.arrivals.callers, load.sessions.length)) {
      const session = nextSession++;
      // Callers do not begin in the same step.
      queue.add(chance.next() * 2000, () => startSession(session));
    }
  }
  for (const { atMs, kind, index } of pool.changes) {
    queue.add(atMs, () => {
      if (kind === 'added') present = [...present, index].toSorted((a, b) => a - b);
      else if (kind === 'replica-lost') serving = serving.filter((replica) => replica !== index);
      else if (kind === 'slowed') engines[index]?.slowDown(slowedFactor);
      else if (kind === 'failing') failingEndpoints.add(index);
      else if (kind === 'recovered') {
        engines[index]?.slowDown(1);
        failingEndpoints.delete(index);
      } else {
        present = present.filter((endpoint) => endpoint !== index);
        for (const request of engines[index]?.stop() ?? []) {
          const one = sent.get(request.id);
          if (one === undefined) continue;
          policyOf(one)?.ended(request, index, 'lost');
          dispatch(one);
        }
      }
    });
  }
  const look = (): void => {
    balance.look(now, present);
    if (now < load.measured.toMs) queue.add(now + lookMs, look);
  };
  queue.add(load.measured.fromMs, look);
  const until = load.measured.toMs + mostDrainMs;
  for (let event = queue.next(); event !== undefined && event.at <= until; event = queue.next()) {
    now = event.at;
    event.run();
    if (late > lateBound) break;
    if (mostLate !== undefined && now > load.measured.toMs && unanswered === 0) break;
    if (open === 0 && load.arrivals.kind === 'closed' && nextSession >= load.sessions.length) break;
  }
  const unevenShare = balance.unevenShare();
  return { ...measure([...sent.values()], load, engines.length), unevenShare, failures: failures / sent.size };
}

function measure(
  all: readonly Sent[],
  { measured: { fromMs, toMs } }: Load,
  endpoints: number,
): Omit<RunResult, 'unevenShare' | 'failures'> {
  const measured = all.filter(({ past, sentAt }) => past === undefined && sentAt >= fromMs && sentAt < toMs);
  const firstMs = measured.map(({ sentAt, firstAt }) => (firstAt ?? Infinity) - sentAt).toSorted((a, b) => a - b);
  const input = measured.reduce((sum, { request }) => sum + request.promptTokens, 0);
  const cached = measured.reduce((sum, one) => sum + one.cached, 0);
  const lastEnd = measured.reduce((last, { endedAt }) => Math.max(last, endedAt ?? 0), 0);
  const begin = measured.reduce((first, { sentAt }) => Math.min(first, sentAt), Infinity);
  const seconds = (Math.max(lastEnd, begin + 1) - begin) / 1000;
  const work = Array.from({ length: endpoints }, () => 0);
  for (const { endpoint, request, cached: found } of measured)
    work[endpoint] = (work[endpoint] ?? 0) + request.promptTokens - found;
  const mean = work.reduce((sum, one) => sum + one, 0) / endpoints;
  return {
    firstMs,
    requestsPerSecond: measured.length / seconds,
    inputPerSecond: input / seconds,
    outputPerSecond: measured.reduce((sum, { request }) => sum + request.outputTokens, 0) / seconds,
    cachedShare: input === 0 ? 0 : cached / input,
    imbalance: mean === 0 ? 1 : Math.max(...work) / mean,
  };
}

export function quantile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Infinity;
}
