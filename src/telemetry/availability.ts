import type { Clock } from '../core/clock.ts';
import { createSliceRing } from './slice-ring.ts';
import { thresholds } from './thresholds.ts';

/** What became of the requests of one slice of time. Slices of several replicas add up. */
export interface ServedSlice {
  served: number;
  total: number;
}

export interface Verdict {
  readonly isMet: boolean;
  /** Share that was served, 0 to 1; absent while there are too few requests to judge. */
  readonly share?: number;
}

/** How many of one model's requests were served, over a window, and whether that is enough. */
export interface Availability {
  readonly record: (isServed: boolean) => void;
  /** Judges by the least share that must be served; a model without one is always at its level. */
  readonly against: (minimum: number | undefined) => Verdict;
  readonly slices: () => readonly ServedSlice[];
}

/** Below its level, a model waits to come back. */
type Judgement = { readonly kind: 'met' } | { readonly kind: 'missed'; readonly lastBelowAt: number };

export function servedOf(slices: readonly ServedSlice[]): ServedSlice {
  const sum = { served: 0, total: 0 };
  for (const { served, total } of slices) {
    sum.served += served;
    sum.total += total;
  }
  return sum;
}

/**
 * A model leaves as soon as its share is below the minimum, with enough requests to judge. So that one at the edge of its
 * level does not come and go with every request, it returns only
 * - when at most half of the failures that the level allows are left in the window, or
 * - when it has not been below the minimum for a whole window: without this, one that is always just good enough would
 *   stay away for ever after one bad moment, or
 * - when the window has turned so far that there is little left to judge by.
 * The judgement is made anew whenever somebody asks: ask after every request, or what happened in between goes unseen.
 */
export function createAvailability(options: { readonly clock: Clock; readonly windowSeconds: number }): Availability {
  const { clock } = options;
  const windowMs = options.windowSeconds * 1000;
  const count = thresholds.availabilitySlices;
  const ring = createSliceRing<ServedSlice>({
    ...{ count, widthMs: windowMs / count },
    empty: () => ({ served: 0, total: 0 }),
  });
  let judgement: Judgement = { kind: 'met' };

  const slices = (): readonly ServedSlice[] => ring.live(clock.now());

  function judge({ served, total }: ServedSlice, minimum: number): Judgement {
    const isBelow = served / total < minimum;
    const missed: Judgement = { kind: 'missed', lastBelowAt: clock.elapsed() };
    if (judgement.kind === 'met') return total >= thresholds.minJudged && isBelow ? missed : judgement;
    if (total < thresholds.minStillJudged) return { kind: 'met' };
    if (isBelow) return missed;
    const isWellAbove = total - served <= (total * (1 - minimum)) / 2;
    return isWellAbove || clock.elapsed() - judgement.lastBelowAt >= windowMs ? { kind: 'met' } : judgement;
  }

  return {
    slices,
    record: (isServed) => {
      const slice = ring.at(clock.now());
      slice.total += 1;
      if (isServed) slice.served += 1;
    },
    against: (minimum) => {
      const sum = servedOf(slices());
      judgement = minimum === undefined ? { kind: 'met' } : judge(sum, minimum);
      return {
        isMet: judgement.kind === 'met',
        ...(sum.total >= thresholds.minJudged && { share: sum.served / sum.total }),
      };
    },
  };
}
