import type { EndpointPick } from '../../../core/pool-prompt.ts';
import { ownerOf } from '../affinity.ts';
import { scores } from '../score.ts';
import type { EndpointHealth, EndpointStatus } from './endpoint-health.ts';
import { type PoolAsk, pickInPool } from './pool-choice.ts';

export interface ChooseOptions {
  readonly now: number;
  readonly stream: boolean;
  /** `Plan.affinity`. Calls with the same affinity go to the same endpoint while it is healthy and has room. */
  readonly affinity: string | undefined;
  /** Undefined: the addresses of a provider, which are one service. */
  readonly pool?: PoolAsk | undefined;
  /** Whether the attempt may probe an endpoint. False after an earlier attempt of the request on this route. */
  readonly mayProbe: boolean;
  /** A random number, 0 ≤ turn < 1. */
  readonly turn: number;
  /** `BeginOptions.isLastResort`. */
  readonly isLastResort: boolean;
}

export interface ChosenEndpoint {
  readonly health: EndpointHealth;
  /** Why it was picked. Undefined: not by its cache, queue and speed. */
  readonly picked: EndpointPick | undefined;
}

interface Candidate {
  readonly health: EndpointHealth;
  readonly status: EndpointStatus;
}

/** Least worth of an endpoint that keeps its prompts, as a share of the best endpoint's worth. */
const minWorth = 0.1;
/**
 * Most attempts under way on an endpoint that may get more of its own prompts: so many times the even share, or so many attempts,
 * whichever is more. With few attempts, chance alone gives an endpoint twice its share, and an attempt that goes elsewhere is
 * computed without the cache.
 */
const maxOfEvenShare = 1.5;
const fewAttempts = 8;

/**
 * Chooses the endpoint of an attempt. First comes an endpoint that is due for a probe. The attempt is then the probe. Of the healthy
 * ones with room, the pool picks one. If none is healthy, an endpoint that fails at once is better than none, and as a last resort
 * the one that cools off soonest. Undefined: all are full, or they cool off or keep requests waiting and this is no last resort.
 */
export function chooseEndpoint(
  endpoints: readonly EndpointHealth[],
  { now, stream, affinity, pool, mayProbe, turn, isLastResort }: ChooseOptions,
): ChosenEndpoint | undefined {
  const candidates = endpoints.map((health): Candidate => ({ health, status: health.status(now, stream) }));
  const inState = (state: EndpointStatus['state']): readonly Candidate[] =>
    candidates.filter(({ status }) => status.state === state);
  const probes = inState('probe');
  const available = inState('available');
  if (probes.length > 0 && (mayProbe || available.length === 0)) return unpicked(probes[0]);
  if (available.length > 0) {
    const options = { now, affinity, turn };
    return pool === undefined ? chooseAddress(available, options) : chooseInPool(available, pool, options);
  }
  const failing = inState('last-resort');
  if (failing.length > 0) return unpicked(failing[Math.floor(turn * failing.length)]);
  return isLastResort ? unpicked(lastResort(candidates, now)) : undefined;
}

/** The endpoint that cools off soonest; one that kept callers waiting only if there is no other. */
function lastResort(candidates: readonly Candidate[], now: number): Candidate | undefined {
  const found = candidates.flatMap((candidate) => {
    const resort = candidate.health.lastResort(now);
    return resort === undefined ? [] : [{ candidate, ...resort }];
  });
  const [best] = found.toSorted((a, b) => Number(a.keepsWaiting) - Number(b.keepsWaiting) || a.coolMs - b.coolMs);
  return best?.candidate;
}

const unpicked = (candidate: Candidate | undefined): ChosenEndpoint | undefined =>
  candidate && { health: candidate.health, picked: undefined };

type AvailableOptions = Pick<ChooseOptions, 'now' | 'affinity' | 'turn'>;

function chooseInPool(
  candidates: readonly Candidate[],
  pool: PoolAsk,
  options: AvailableOptions,
): ChosenEndpoint | undefined {
  const among = candidates.map(({ health, status }) => ({ name: health.endpoint.name, success: status.success }));
  const found = pickInPool(among, pool, options);
  const health = candidates.find((candidate) => candidate.health.endpoint.name === found?.name)?.health;
  return found === undefined || health === undefined ? undefined : { health, picked: found.picked };
}

/** The conversation's owner while it has room and is worth its prompts. Otherwise chance decides by score, as between routes. */
function chooseAddress(
  candidates: readonly Candidate[],
  { affinity, turn }: AvailableOptions,
): ChosenEndpoint | undefined {
  const scored = scores(candidates.map(({ status }) => ({ weight: 1, status: { ...status, validity: 1 } })));
  const inFlight = candidates.reduce((sum, { status }) => sum + status.inFlight, 0);
  const maxInFlight = Math.max(fewAttempts, Math.ceil((maxOfEvenShare * (inFlight + 1)) / candidates.length));
  const leastWorth = minWorth * Math.max(...scored.map(({ worth }) => worth));
  const able = candidates.flatMap(({ health, status }, index) =>
    status.inFlight < maxInFlight && (scored[index]?.worth ?? 0) >= leastWorth
      ? [{ name: health.endpoint.name, health }]
      : [],
  );
  const own = affinity === undefined ? undefined : ownerOf(affinity, able);
  if (own !== undefined) return { health: own.health, picked: undefined };
  let point = turn * scored.reduce((sum, { chance }) => sum + chance, 0);
  return unpicked(candidates.find((_, index) => (point -= scored[index]?.chance ?? 0) < 0) ?? candidates.at(-1));
}
