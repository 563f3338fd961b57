import type { Outcome } from '../../core/account.ts';
import type { PerformanceFigure } from '../../core/observed-catalog.ts';
import { addToBucket, type BucketCounts, createLogScale, reachedAt } from '../../gateway/core/log-histogram.ts';
import { createSliceRing } from './slice-ring.ts';
import { thresholds } from './thresholds.ts';

/** Kinds of evidence of a model's speed, the best first. Each has a histogram of its own. */
const paces = ['streamed', 'whole', 'estimated'] as const;
type Pace = (typeof paces)[number];

/** The measurements of one model in one slice of time. Most models use only two of the histograms. */
export type SpeedSlice = { [K in Pace | 'firstToken']?: SpeedHistogram };

/** The speed of one model's answers, over `thresholds.windowMs`. */
export type SpeedWindow = ReturnType<typeof createSpeedWindow>;

export function createSpeedWindow() {
  const { windowMs, windowSlices } = thresholds;
  const ring = createSliceRing<SpeedSlice>({
    count: windowSlices,
    widthMs: windowMs / windowSlices,
    empty: () => ({}),
  });
  return {
    slices: ring.live,
    outcome: (outcome: Outcome, now: number): void => {
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
 * The delivered tokens per second. For a stream: the tokens after the first delivery, over the time from the first to
 * the last, without the processing of the prompt. For a whole answer, and a stream that arrived in one burst: all
 * tokens over the time since the request, which understates the model's speed and never overstates it.
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
 * The figure that the catalog publishes for these slices. Undefined if none is fresh. Medians use streams alone if
 * there are enough of them. Otherwise they also use whole answers, and then answers whose tokens are estimates.
 */
export function figureOf(slices: readonly SpeedSlice[], now: number): PerformanceFigure | undefined {
  const all = (kind: keyof SpeedSlice): readonly SpeedHistogram[] => slices.flatMap((slice) => slice[kind] ?? []);
  const isFresh = (histograms: readonly SpeedHistogram[]): boolean =>
    totalOf(histograms) >= thresholds.minSamples && now - newestAt(histograms) <= thresholds.freshMs;

  const speed: SpeedHistogram[] = [];
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
 * Milliseconds, or tokens per second, of one slice of time. The sum of several slices gives the same median as one
 * histogram of all samples.
 */
export interface SpeedHistogram {
  readonly counts: BucketCounts;
  total: number;
  /** Wall clock of the newest sample, milliseconds. */
  newestAt: number;
}

/** The largest error of a median, as a share of its value. */
export const relativeError = 0.04;

/**
 * The measured range. In tokens per second its lower end is a token in ten seconds; in milliseconds its upper end is
 * sixteen minutes. Values outside the range count as its nearest end.
 */
const lowest = 0.1;
const highest = 1_000_000;
/** The middle of a bucket is `relativeError` away from both of its ends. */
const perDoubling = 1 / Math.log2((1 + relativeError) / (1 - relativeError));
/** 202 buckets: 808 bytes. */
const bucketCount = Math.ceil(Math.log2(highest / lowest) * perDoubling);
const scale = createLogScale({ lowest, perDoubling, bucketCount });

export function emptyHistogram(): SpeedHistogram {
  return { counts: new Uint32Array(bucketCount), total: 0, newestAt: 0 };
}

export function addSample(histogram: SpeedHistogram, value: number, at: number): void {
  addToBucket(histogram.counts, scale.bucketOf(value));
  histogram.total += 1;
  histogram.newestAt = Math.max(histogram.newestAt, at);
}

export function totalOf(histograms: readonly SpeedHistogram[]): number {
  return histograms.reduce((sum, { total }) => sum + total, 0);
}

/** When the newest of the samples was taken; 0 when there are none. */
export function newestAt(histograms: readonly SpeedHistogram[]): number {
  return histograms.reduce((newest, histogram) => Math.max(newest, histogram.newestAt), 0);
}

/** The smallest value that at least half of the samples do not exceed, within `relativeError`; 0 when there are none. */
export function medianOf(histograms: readonly SpeedHistogram[]): number {
  const counts = histograms.map((histogram) => histogram.counts);
  const median = reachedAt(counts, { share: 0.5, total: totalOf(histograms) });
  return median === undefined ? 0 : scale.boundAt(median.bucket) * (1 + relativeError);
}
