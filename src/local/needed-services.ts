import type { ServiceState } from '../envoy/config/service-cluster.ts';

/** How busy a service was since it was last asked. */
export interface ServiceUse {
  /** Share of a core that its event loop used. */
  readonly ran: number;
  /** Share of the time in which its event loop had work: more than `ran` if it waited for a core. */
  readonly wanted: number;
  /** How much of its capacity is in use, from 0 to 1 (`filledShare`). */
  readonly filled: number;
}

/** Processor time of all event loops together, in cores. Below this, the number of services does not matter. */
const worthCores = 0.3;
/** Above the first share of time in which loops wait for a core, cores are short. Below the second share, they are not. */
const shortShare = 1 / 3;
const calmShare = 0.15;
/**
 * Checks in a row that must agree before a change. Changes have a price: with fewer services, the death of one breaks
 * more streams, and whenever a service starts, cores are short for a moment.
 */
const looksInRow = 5;
/** Share of a core. The number of services is the lowest one at which each loop stays below this share. */
const fullLoop = 0.7;
/** A loop above this share is full, and waits only for itself. */
const overfullLoop = 0.85;
/** Highest share of its capacity that each service should use. */
const halfFilled = 0.5;

/**
 * How many of several services should get requests; called with each check of the available ones. The result is all of
 * them, as long as there are cores. If their event loops wait for cores, more loops do not do more work: fewer requests
 * share a turn and a commit, and a request costs up to twice as much. The result is then the lowest number that can do
 * the work. It rises by one when cores are no longer short, or when a loop is full.
 */
export function createNeededServices(services: number): (uses: readonly ServiceUse[]) => number {
  let count = services;
  let short = 0;
  let calm = 0;
  return (uses) => {
    const sum = (read: (use: ServiceUse) => number): number => uses.reduce((total, use) => total + read(use), 0);
    const [ran, wanted, filled] = [sum((use) => use.ran), sum((use) => use.wanted), sum((use) => use.filled)];
    const waits = wanted === 0 ? 0 : (wanted - ran) / wanted;
    const isShort = ran >= worthCores && waits > shortShare;
    const isCalm = ran < worthCores || waits < calmShare;
    short = isShort ? short + 1 : 0;
    calm = isCalm ? calm + 1 : 0;
    const least = Math.max(1, Math.ceil(ran / fullLoop), Math.ceil(filled / halfFilled));
    if (short >= looksInRow) count = Math.min(count, least);
    else if (calm >= looksInRow || ran / count > overfullLoop) {
      count += 1;
      calm = 0;
    }
    count = Math.min(services, Math.max(count, Math.ceil(filled / halfFilled)));
    return count;
  };
}

/** The states for Envoy. Of the services that serve, the first `count` get requests, and the others are spare. */
export function withSpares(states: readonly ServiceState[], count: number): readonly ServiceState[] {
  let serving = 0;
  return states.map((state) => {
    if (state !== 'serving') return state;
    serving += 1;
    return serving <= count ? 'serving' : 'spare';
  });
}
