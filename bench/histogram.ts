/**
 * Counts of durations in log-linear buckets, as in HdrHistogram: 64 linear steps per power of two of microseconds,
 * so that every value is kept within 1.6 %. Plain data: it crosses threads and merges by addition.
 */
export interface Histogram {
  readonly counts: Float64Array;
}

const subBuckets = 64;
const subBits = 6;
/** 2^32 µs is over an hour; longer values are counted in the last bucket. */
const powers = 32 - subBits;
const size = subBuckets * (powers + 1);

export function createHistogram(): Histogram {
  return { counts: new Float64Array(size) };
}

export function record(histogram: Histogram, ms: number): void {
  const index = bucketOf(Math.round(ms * 1000));
  histogram.counts[index] = (histogram.counts[index] ?? 0) + 1;
}

export function merge(histograms: readonly Histogram[]): Histogram {
  const merged = createHistogram();
  for (const { counts } of histograms) {
    for (let index = 0; index < size; index += 1) {
      merged.counts[index] = (merged.counts[index] ?? 0) + (counts[index] ?? 0);
    }
  }
  return merged;
}

export function total(histogram: Histogram): number {
  return histogram.counts.reduce((sum, count) => sum + count, 0);
}

/** The value below or at which this share of the records lies, in ms (middle of its bucket); undefined when there are none. */
export function percentile(histogram: Histogram, share: number): number | undefined {
  const all = total(histogram);
  if (all === 0) return undefined;
  const rank = Math.max(1, Math.ceil(share * all));
  let seen = 0;
  for (let index = 0; index < size; index += 1) {
    seen += histogram.counts[index] ?? 0;
    if (seen >= rank) return middleOf(index) / 1000;
  }
  return middleOf(size - 1) / 1000;
}

function bucketOf(us: number): number {
  if (us < subBuckets) return Math.max(0, us);
  const power = Math.floor(Math.log2(us)) - subBits;
  if (power >= powers) return size - 1;
  return subBuckets * (power + 1) + Math.floor(us / 2 ** power) - subBuckets;
}

function middleOf(index: number): number {
  if (index < subBuckets) return index;
  const power = Math.floor(index / subBuckets) - 1;
  const width = 2 ** power;
  return (subBuckets + (index % subBuckets)) * width + (width - 1) / 2;
}
