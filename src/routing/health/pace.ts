import { createDecayedMean } from './decayed-mean.ts';

/** What a first output takes. */
export interface FirstOutput {
  readonly ms: number;
  /** On how many samples it stands. */
  readonly weight: number;
  /** None has come lately; it takes longer than that. */
  readonly isBound: boolean;
}

/** How long a route takes to its first output: streams and whole answers have one each. */
export interface Pace {
  readonly began: (now: number) => void;
  /** An attempt begun then waits no more. `output`: it came. `beaten`: it would have come later than now. `left`: nobody knows. */
  readonly over: (
    now: number,
    attempt: { readonly begunAt: number; readonly end: 'output' | 'beaten' | 'left' },
  ) => void;
  /** What it takes now; undefined when nothing is known. */
  readonly firstOutput: (now: number) => FirstOutput | undefined;
  /** The 95th percentile, and on how many samples it stands. */
  readonly p95: (now: number) => { readonly ms: number; readonly weight: number } | undefined;
  /** It has been away and is as new: what it took before says little. */
  readonly restart: () => void;
}

/** A percentile wants many samples. */
const percentileHalfLifeMs = 120_000;
/** The present is the last few: a change shows at once, and what was long ago is soon believed no more. */
export const present = { halfLifeMs: 20_000, mostWeight: 8 };
/** Below it, what was known is forgotten. */
export const leastWeight = 0.01;
/** Those that wait are young and old: only when the average of them is so much older than what is usual, they are late. */
const lateFactor = 3;

export function createPace(): Pace {
  const histogram = createLatencyHistogram({ halfLifeMs: percentileHalfLifeMs });
  // Of logarithms: one straggler among many is no change of pace.
  const logMs = createDecayedMean(present);
  let waiting = 0;
  let begunSum = 0;

  return {
    began: (now) => {
      waiting += 1;
      begunSum += now;
    },
    over: (now, { begunAt, end }) => {
      waiting -= 1;
      begunSum = waiting === 0 ? 0 : begunSum - begunAt;
      if (end === 'left') return;
      const ms = Math.max(1, now - begunAt);
      const known = logMs.weight(now) > 0;
      if (end === 'output' || !known || Math.log(ms) > logMs.mean(now)) logMs.add(now, Math.log(ms));
      histogram.add(now, ms);
    },
    firstOutput: (now) => {
      const weight = logMs.weight(now);
      // Where it has become slow, those that still wait know it before any that is through.
      const age = waiting < 2 ? 0 : now - begunSum / waiting;
      if (weight < leastWeight) return age === 0 ? undefined : { ms: age, weight: waiting, isBound: true };
      const ms = Math.exp(logMs.mean(now));
      if (age <= ms * lateFactor) return { ms, weight, isBound: false };
      return { ms: age, weight: Math.max(weight, waiting), isBound: false };
    },
    p95: (now) => {
      const ms = histogram.quantile(0.95);
      return ms === undefined ? undefined : { ms, weight: histogram.weight(now) };
    },
    restart: logMs.restart,
  };
}

/** Durations in buckets whose width grows with them, newer ones counting for more. */
export interface LatencyHistogram {
  readonly add: (now: number, durationMs: number) => void;
  /** How many samples it stands on; one counts for half after a half-life. */
  readonly weight: (now: number) => number;
  /** The duration that a share of the samples stays below, to within a tenth; undefined without samples. */
  readonly quantile: (share: number) => number | undefined;
}

/** Buckets per doubling: each is 19 % wide. */
const perDoubling = 4;
/** From one millisecond to seventeen minutes. */
const buckets = 20 * perDoubling;
/** Doublings of the newest weight after which all are made small again, long before a number overflows. */
const mostDoublings = 64;

export function createLatencyHistogram(options: { readonly halfLifeMs: number }): LatencyHistogram {
  const { halfLifeMs } = options;
  const counts = new Float64Array(buckets);
  // Instead of shrinking all that is old with every sample, a new sample weighs more: shares come out the same.
  let origin = 0;
  let total = 0;

  function weightAt(now: number): number {
    const doublings = (now - origin) / halfLifeMs;
    if (doublings <= mostDoublings) return 2 ** doublings;
    const kept = 2 ** -doublings;
    total = 0;
    for (let index = 0; index < buckets; index += 1) {
      counts[index] = (counts[index] ?? 0) * kept;
      total += counts[index] ?? 0;
    }
    origin = now;
    return 1;
  }

  return {
    add: (now, durationMs) => {
      const place = Math.floor(Math.log2(Math.max(1, durationMs)) * perDoubling);
      const index = Math.min(buckets - 1, place);
      const weight = weightAt(now);
      counts[index] = (counts[index] ?? 0) + weight;
      total += weight;
    },
    weight: (now) => total / weightAt(now),
    quantile: (share) => {
      if (total === 0) return undefined;
      let left = share * total;
      for (let index = 0; index < buckets; index += 1) {
        const count = counts[index] ?? 0;
        if (count > 0 && left <= count) return 2 ** ((index + left / count) / perDoubling);
        left -= count;
      }
      // What was rounded away at the end of the sum.
      return 2 ** (buckets / perDoubling);
    },
  };
}
