import { createDecayedMean, type DecayedMean } from '../../gateway/core/decayed-mean.ts';
import type { PoolView } from '../../gateway/routing/health/pool-choice.ts';
import type { EndpointPool } from '../../gateway/routing/pool/pool.ts';

/** A sender of requests, such as a gateway, with the evidence of its own requests. Answers that another sender reports change none of it. */
export interface Sender {
  readonly view: PoolView;
  /** Share of the requests to an endpoint that succeeded lately. */
  readonly success: (now: number, endpoint: string) => number;
  readonly record: (now: number, endpoint: string, success: 0 | 1) => void;
}

export type Senders = ReturnType<typeof createSenders>;

export interface SendersOptions {
  readonly createPool: () => EndpointPool;
  /** Whether other pickers send prompts to the endpoints. */
  readonly isApart: () => boolean;
}

/** Beyond this number, the sender with the fewest recent requests is forgotten. Each may keep 1.4 MiB for each endpoint. */
const maxSenders = 16;
/** As for the endpoints of a backend (`src/gateway/routing/health/endpoint-health.ts`). */
const successMemory = { halfLifeMs: 30_000, maxWeight: 12 };
const successPrior = { value: 1, weight: 1 };
/** The requests that show how active a sender is. */
const recentRequests = { halfLifeMs: 60_000, maxWeight: 1_000_000 };
/** Other senders that send less than this share of a sender's own requests do not change where its conversations begin. */
const minOtherShare = 0.1;
/**
 * Another sender's load at an endpoint counts up to this share of the sender's own load at an average endpoint: a sender that opens
 * requests at one endpoint and never ends them takes from it at most about half of the requests of the others.
 */
const maxOtherLoad = 0.5;

interface KnownSender {
  readonly pool: EndpointPool;
  readonly successes: Map<string, DecayedMean>;
  readonly requests: DecayedMean;
}

interface Load {
  readonly aheadTokens: number;
  readonly underWay: number;
}

const sumOf = (loads: readonly Load[]): Load =>
  loads.reduce(
    (sum, load) => ({ aheadTokens: sum.aheadTokens + load.aheadTokens, underWay: sum.underWay + load.underWay }),
    { aheadTokens: 0, underWay: 0 },
  );

/**
 * Keeps the evidence of each sender apart, as if each had a picker of its own. A stranger that reaches the port can report any answer,
 * so that evidence counts for the picks of its own sender only.
 */
export function createSenders({ createPool, isApart }: SendersOptions) {
  const known = new Map<string, KnownSender>();
  let endpoints: ReadonlySet<string> = new Set();

  function makeRoom(now: number): void {
    if (known.size < maxSenders) return;
    const [least] = [...known].toSorted(([, one], [, other]) => one.requests.weight(now) - other.requests.weight(now));
    if (least !== undefined) known.delete(least[0]);
  }

  function knownAs(now: number, name: string): KnownSender {
    const before = known.get(name);
    if (before !== undefined) return before;
    makeRoom(now);
    const made = { pool: createPool(), successes: new Map(), requests: createDecayedMean(recentRequests) };
    known.set(name, made);
    return made;
  }

  /** Shows the pool of a sender a bounded load of the others. */
  function hear(now: number, { pool }: KnownSender, others: readonly KnownSender[]): void {
    const own = [...endpoints].map((name) => ({ name, ...pool.endpoint(name).takeReport(now) }));
    const all = sumOf(own);
    const most = maxOtherLoad / Math.max(1, own.length);
    for (const { name, capacityTokens } of own) {
      const theirs = others.map((other): Load => {
        const { aheadTokens, underWay } = other.pool.endpoint(name).takeReport(now);
        return {
          aheadTokens: Math.min(aheadTokens, all.aheadTokens * most),
          underWay: Math.min(underWay, all.underWay * most),
        };
      });
      // Its own size of the cache, which stays as it is.
      pool.endpoint(name).heard('others', { ...sumOf(theirs), steps: 0, capacityTokens });
    }
  }

  return {
    /** A sender wants an endpoint. Returns its evidence, with the load that the other senders report. */
    asks: (now: number, name: string): Sender => {
      const sender = knownAs(now, name);
      const { pool, successes, requests } = sender;
      requests.add(now, 1);
      const others = [...known.values()].filter((other) => other !== sender);
      const otherRequests = others.reduce((sum, other) => sum + other.requests.weight(now), 0);
      const hasPeers = otherRequests > requests.weight(now) * minOtherShare;
      if (others.length > 0) hear(now, sender, others);
      return {
        view: { pool, isApart: () => hasPeers || isApart() },
        success: (at, endpoint) => successes.get(endpoint)?.mean(at, successPrior) ?? 1,
        record: (at, endpoint, success) => {
          const mean = successes.getOrInsertComputed(endpoint, () => createDecayedMean(successMemory));
          mean.add(at, success);
        },
      };
    },
    /** Sets the endpoints of the pool, by their names. Forgets the others. */
    setEndpoints: (names: ReadonlySet<string>): void => {
      endpoints = names;
      for (const { pool, successes } of known.values()) {
        pool.retain(names);
        for (const name of successes.keys()) if (!names.has(name)) successes.delete(name);
      }
    },
  };
}
