import { addToBucket, createLogScale, reachedAt } from '../../core/log-histogram.ts';
import { createDecayedMean } from '../../core/decayed-mean.ts';

/** The time to the first output. */
export interface FirstOutput {
  readonly ms: number;
  /** The number of samples behind `ms`. */
  readonly weight: number;
  /** No output has come lately, and the first output takes longer than `ms`. */
  readonly isBound: boolean;
}

/** A route's times to the first output. Streams and whole answers have a pace each. */
export type Pace = ReturnType<typeof createPace>;

/** A percentile needs many samples. */
export const percentileHalfLifeMs = 120_000;
/** The present pace counts few samples, so that a change shows at once and old samples are soon forgotten. */
export const present = { halfLifeMs: 20_000, maxWeight: 8 };
/** Below this weight a mean counts as unknown. */
export const minWeight = 0.01;
/** Attempts under way are late when their mean age is so many times the usual wait. Some of them are always young. */
const lateFactor = 3;

export function createPace() {
  const histogram = createLatencyHistogram({ halfLifeMs: percentileHalfLifeMs });
  // A mean of logarithms, so that one slow answer among many does not change the pace.
  const logMs = createDecayedMean(present);
  let waiting = 0;
  let begunSum = 0;

  return {
    began: (now: number): void => {
      waiting += 1;
      begunSum += now;
    },
    /**
     * Call it when an attempt stops waiting. `output`: the first output has come. `beaten`: the output would have come later. `left`:
     * it is unknown when.
     */
    over: (
      now: number,
      { begunAt, end }: { readonly begunAt: number; readonly end: 'output' | 'beaten' | 'left' },
    ): void => {
      waiting -= 1;
      begunSum = waiting === 0 ? 0 : begunSum - begunAt;
      if (end === 'left') return;
      const ms = Math.max(1, now - begunAt);
      const known = logMs.weight(now) > 0;
      if (end === 'output' || !known || Math.log(ms) > logMs.mean(now)) logMs.add(now, Math.log(ms));
      histogram.add(now, ms);
    },
    /** The time to the first output now. Undefined: nothing is known. */
    firstOutput: (now: number): FirstOutput | undefined => {
      const weight = logMs.weight(now);
      // When a route becomes slow, its waiting attempts show it before the first one ends.
      const age = waiting < 2 ? 0 : now - begunSum / waiting;
      if (weight < minWeight) return age === 0 ? undefined : { ms: age, weight: waiting, isBound: true };
      const ms = Math.exp(logMs.mean(now));
      if (age <= ms * lateFactor) return { ms, weight, isBound: false };
      return { ms: age, weight: Math.max(weight, waiting), isBound: false };
    },
    /** The 95th percentile, and the number of samples behind it. Undefined: there is no sample. */
    p95: (now: number): { readonly ms: number; readonly weight: number } | undefined => {
      const ms = histogram.quantile(0.95);
      return ms === undefined ? undefined : { ms, weight: histogram.weight(now) };
    },
    /** Forgets the present pace of a route that has recovered. Keeps the percentile. */
    restart: logMs.restart,
  };
}

/** A histogram of durations in buckets of growing width. Newer samples count for more. */
export type LatencyHistogram = ReturnType<typeof createLatencyHistogram>;

/** From one millisecond to seventeen minutes, in buckets that are each 19 % wide. */
const scale = createLogScale({ lowest: 1, perDoubling: 4, bucketCount: 80 });
/** After so many doublings of the newest weight, all weights are scaled down, long before a number overflows. */
const maxDoublings = 64;

export function createLatencyHistogram(options: { readonly halfLifeMs: number }) {
  const { halfLifeMs } = options;
  const counts = new Float64Array(scale.bucketCount);
  // Each new sample gets a greater weight. The shares are the same as if all old samples lost weight.
  let origin = 0;
  let total = 0;

  function weightAt(now: number): number {
    const doublings = (now - origin) / halfLifeMs;
    if (doublings <= maxDoublings) return 2 ** doublings;
    const kept = 2 ** -doublings;
    total = 0;
    for (const [bucket, count] of counts.entries()) {
      counts[bucket] = count * kept;
      total += count * kept;
    }
    origin = now;
    return 1;
  }

  return {
    add: (now: number, durationMs: number): void => {
      const weight = weightAt(now);
      addToBucket(counts, scale.bucketOf(durationMs), weight);
      total += weight;
    },
    /** How many samples the histogram holds. A sample counts for half after a half-life. */
    weight: (now: number): number => total / weightAt(now),
    /** The duration that a share of the samples does not exceed, exact to a tenth. Undefined: there is no sample. */
    quantile: (share: number): number | undefined => {
      const reached = reachedAt([counts], { share, total });
      return reached && scale.boundAt(reached.bucket + reached.within);
    },
  };
}
