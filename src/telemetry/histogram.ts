/**
 * A histogram with logarithmic buckets, for medians of milliseconds and of tokens per second. Histograms of several slices
 * of time, or of several replicas, add up bucket by bucket: together they say what one histogram of everything would.
 */
export interface Histogram {
  readonly counts: Uint32Array;
  total: number;
  /** Wall clock of the newest sample, milliseconds. */
  newestAt: number;
}

/** A median is at most this much off, as a share of the value. */
export const relativeError = 0.04;

/** What can be told apart: a token in ten seconds, or sixteen minutes in milliseconds. What is beyond counts as the end. */
const lowest = 0.1;
const highest = 1_000_000;

/** So wide is a bucket on the logarithmic scale that its middle is `relativeError` away from both of its ends. */
const width = Math.log((1 + relativeError) / (1 - relativeError));
/** 202 buckets: 808 bytes. */
const bucketCount = Math.ceil(Math.log(highest / lowest) / width);

export function emptyHistogram(): Histogram {
  return { counts: new Uint32Array(bucketCount), total: 0, newestAt: 0 };
}

/** Adds in place: it is on the way of every answer. */
export function addSample(histogram: Histogram, value: number, at: number): void {
  const bucket = Math.min(Math.max(Math.floor(Math.log(value / lowest) / width), 0), bucketCount - 1);
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
  histogram.total += 1;
  histogram.newestAt = Math.max(histogram.newestAt, at);
}

export function totalOf(histograms: readonly Histogram[]): number {
  return histograms.reduce((sum, { total }) => sum + total, 0);
}

/** When the newest of the samples was taken; of none, 0. */
export function newestAt(histograms: readonly Histogram[]): number {
  return histograms.reduce((newest, histogram) => Math.max(newest, histogram.newestAt), 0);
}

/** The smallest value that at least half of the samples do not exceed, within `relativeError`; of none, 0. */
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
