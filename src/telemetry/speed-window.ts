import type { Outcome } from '../core/account.ts';
import type { PerformanceFigure } from '../core/observed-catalog.ts';
import { createSliceRing } from './slice-ring.ts';
import { thresholds } from './thresholds.ts';

/** Kinds of evidence of a model's speed, the best first. Each has a histogram of its own. */
const paces = ['streamed', 'whole', 'estimated'] as const;
type Pace = (typeof paces)[number];

/** What was measured of one model in one slice of time. Most models only ever have two of the histograms. */
export type SpeedSlice = { [K in Pace | 'firstToken']?: Histogram };

/** The speed of one model's answers, over `thresholds.windowMs`. */
export interface SpeedWindow {
  readonly outcome: (outcome: Outcome, now: number) => void;
  readonly slices: (now: number) => readonly SpeedSlice[];
}

export function createSpeedWindow(): SpeedWindow {
  const { windowMs, windowSlices } = thresholds;
  const ring = createSliceRing<SpeedSlice>({
    count: windowSlices,
    widthMs: windowMs / windowSlices,
    empty: () => ({}),
  });
  return {
    slices: ring.live,
    outcome: (outcome, now) => {
      // Cancelled answers count, because callers cancel long and slow answers most often: without them the figure would be
      // too good. Broken answers do not count here; they lower availability.
      if (outcome.kind !== 'completed' && outcome.kind !== 'cancelled') return;
      if (outcome.stream && outcome.output !== undefined) {
        addSample((ring.at(now).firstToken ??= emptyHistogram()), outcome.output.firstMs, now);
      }
      const speed = speedOf(outcome);
      if (speed !== undefined) addSample((ring.at(now)[speed.pace] ??= emptyHistogram()), speed.perSecond, now);
    },
  };
}

/**
 * Tokens per second as they were delivered. Of a stream: the tokens after the first delivery, over the time from the first to
 * the last, which leaves out the processing of the prompt. Of a whole answer, and of a stream that came in one burst: all
 * tokens over the time since the request, which understates the model's speed and never flatters it.
 */
function speedOf({
  stream,
  countedBy,
  output,
}: Outcome): { readonly pace: Pace; readonly perSecond: number } | undefined {
  if (output === undefined || output.tokens < thresholds.minTokens) return undefined;
  const { tokens, tokensAtFirst, firstMs, lastMs } = output;
  const isPaced = stream && lastMs - firstMs >= thresholds.minStreamMs && tokens > tokensAtFirst;
  const perSecond = isPaced ? ((tokens - tokensAtFirst) * 1000) / (lastMs - firstMs) : (tokens * 1000) / lastMs;
  if (!Number.isFinite(perSecond)) return undefined;
  return { pace: countedBy === 'estimate' ? 'estimated' : isPaced ? 'streamed' : 'whole', perSecond };
}

/**
 * The figure that the catalog publishes for these slices; undefined when nothing in them is fresh. The medians are of streams
 * alone where there are enough of them, else of whole answers too, and only then of answers whose tokens are estimates.
 */
export function figureOf(slices: readonly SpeedSlice[], now: number): PerformanceFigure | undefined {
  const all = (kind: keyof SpeedSlice): readonly Histogram[] => slices.flatMap((slice) => slice[kind] ?? []);
  const isFresh = (histograms: readonly Histogram[]): boolean =>
    totalOf(histograms) >= thresholds.minSamples && now - newestAt(histograms) <= thresholds.freshMs;

  const speed: Histogram[] = [];
  for (const pace of paces) {
    speed.push(...all(pace));
    if (isFresh(speed)) break;
  }
  if (!isFresh(speed)) return undefined;
  const firstToken = all('firstToken');
  const shown = isFresh(firstToken) ? firstToken : [];
  return {
    tokensPerSecondP50: medianOf(speed),
    firstTokenMsP50: shown.length > 0 ? medianOf(shown) : undefined,
    asOf: Math.floor(newestAt([...speed, ...shown]) / 1000),
  };
}

/**
 * A histogram with logarithmic buckets, for medians of milliseconds and of tokens per second. Histograms of several slices
 * of time add up bucket by bucket and give the same median as one histogram of all samples.
 */
export interface Histogram {
  readonly counts: Uint32Array;
  total: number;
  /** Wall clock of the newest sample, milliseconds. */
  newestAt: number;
}

/** The largest error of a median, as a share of its value. */
export const relativeError = 0.04;

/** The range that is measured: from a token in ten seconds to sixteen minutes in milliseconds. Values beyond count as its ends. */
const lowest = 0.1;
const highest = 1_000_000;

/** Width of a bucket on the logarithmic scale: the middle of a bucket is `relativeError` away from both of its ends. */
const width = Math.log((1 + relativeError) / (1 - relativeError));
/** 202 buckets: 808 bytes. */
const bucketCount = Math.ceil(Math.log(highest / lowest) / width);

export function emptyHistogram(): Histogram {
  return { counts: new Uint32Array(bucketCount), total: 0, newestAt: 0 };
}

/** Changes the histogram in place, since every answer passes here. */
export function addSample(histogram: Histogram, value: number, at: number): void {
  const bucket = Math.min(Math.max(Math.floor(Math.log(value / lowest) / width), 0), bucketCount - 1);
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
  histogram.total += 1;
  histogram.newestAt = Math.max(histogram.newestAt, at);
}

export function totalOf(histograms: readonly Histogram[]): number {
  return histograms.reduce((sum, { total }) => sum + total, 0);
}

/** When the newest of the samples was taken; 0 when there are none. */
export function newestAt(histograms: readonly Histogram[]): number {
  return histograms.reduce((newest, histogram) => Math.max(newest, histogram.newestAt), 0);
}

/** The smallest value that at least half of the samples do not exceed, within `relativeError`; 0 when there are none. */
export function medianOf(histograms: readonly Histogram[]): number {
  const total = totalOf(histograms);
  if (total === 0) return 0;
  let seen = 0;
  let bucket = -1;
  while (seen * 2 < total) {
    bucket += 1;
    for (const { counts } of histograms) seen += counts[bucket] ?? 0;
  }
  return lowest * Math.exp(bucket * width) * (1 + relativeError);
}
