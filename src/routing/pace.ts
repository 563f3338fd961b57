import { createDecayedMean } from './decayed-mean.ts';
import { createLatencyHistogram } from './latency-histogram.ts';

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
