import { pull } from '../affinity.ts';
import { type Score, scores } from '../score.ts';
import type { EndpointHealth, EndpointStatus } from './endpoint-health.ts';

export interface ChooseOptions {
  readonly now: number;
  readonly stream: boolean;
  /** `Plan.affinity`. Calls with the same affinity go to the same endpoint while it is healthy and has room. */
  readonly affinity: string | undefined;
  /** Whether the attempt may probe an endpoint. False after an earlier attempt of the request on this route. */
  readonly mayProbe: boolean;
  /** A random number, 0 ≤ turn < 1. */
  readonly turn: number;
}

interface Candidate {
  readonly health: EndpointHealth;
  readonly status: EndpointStatus;
}

/** Least worth of an endpoint that keeps its prompts, as a share of the best endpoint's worth. */
const leastWorth = 0.1;
/**
 * Most attempts under way on an endpoint that may get more of its own prompts: so many times the even share, or so many attempts,
 * whichever is more. With few attempts, chance alone gives an endpoint twice its share, and an attempt that goes elsewhere is
 * computed without the cache.
 */
const mostOfEvenShare = 1.5;
const fewAttempts = 8;

/**
 * Chooses the endpoint of an attempt. First comes an endpoint that is due for a probe. The attempt is then the probe. Then comes
 * the prompt's own endpoint, if it is healthy and has room. Otherwise chance decides by score, as between routes. If none is
 * healthy, an endpoint that fails at once is better than none. Undefined: all are full, cooling off, or keep requests waiting.
 */
export function chooseEndpoint(
  endpoints: readonly EndpointHealth[],
  { now, stream, affinity, mayProbe, turn }: ChooseOptions,
): EndpointHealth | undefined {
  const candidates = endpoints.map((health): Candidate => ({ health, status: health.status(now, stream) }));
  const inState = (state: EndpointStatus['state']): readonly Candidate[] =>
    candidates.filter(({ status }) => status.state === state);
  const probes = inState('probe');
  const available = inState('available');
  if (probes.length > 0 && (mayProbe || available.length === 0)) return probes[0]?.health;
  if (available.length > 0) {
    const scored = scores(available.map(({ status }) => ({ weight: 1, status: { ...status, validity: 1 } })));
    const own = affinity === undefined ? undefined : prefixOwner(available, { scored, affinity });
    return (own ?? pick(available, { scored, turn }))?.health;
  }
  const failing = inState('last-resort');
  return failing[Math.floor(turn * failing.length)]?.health;
}

/**
 * Returns the endpoint that has a prompt's beginning in its prefix cache. Rendezvous hashing finds it, so that every replica with
 * the same key finds the same endpoint. An endpoint that is added or removed moves only its own share of the prompts.
 */
function prefixOwner(
  candidates: readonly Candidate[],
  { scored, affinity }: { readonly scored: readonly Score[]; readonly affinity: string },
): Candidate | undefined {
  const inFlight = candidates.reduce((sum, { status }) => sum + status.inFlight, 0);
  const most = Math.max(fewAttempts, Math.ceil((mostOfEvenShare * (inFlight + 1)) / candidates.length));
  const bestWorth = scored.reduce((best, { worth }) => Math.max(best, worth), 0);
  let owner: Candidate | undefined;
  let strongest = 0;
  for (const [index, candidate] of candidates.entries()) {
    const worth = scored[index]?.worth ?? 0;
    if (candidate.status.inFlight >= most || worth < bestWorth * leastWorth) continue;
    const strength = pull(affinity, candidate.health.endpoint.name, 1);
    if (strength <= strongest) continue;
    strongest = strength;
    owner = candidate;
  }
  return owner;
}

function pick(
  candidates: readonly Candidate[],
  { scored, turn }: { readonly scored: readonly Score[]; readonly turn: number },
): Candidate | undefined {
  let point = turn * scored.reduce((sum, { chance }) => sum + chance, 0);
  return candidates.find((_, index) => (point -= scored[index]?.chance ?? 0) < 0) ?? candidates.at(-1);
}
