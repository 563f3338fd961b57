/**
 * Histograms whose buckets grow by a constant factor: the relative error of a quantile is the same everywhere.
 * Histograms of one scale can be added bucket by bucket.
 */
export function createLogScale(options: {
  readonly lowest: number;
  readonly perDoubling: number;
  readonly bucketCount: number;
}) {
  const { lowest, perDoubling, bucketCount } = options;
  return {
    bucketCount,
    /**
     * The bucket of a value. Values below the lowest bound belong to the first bucket, values above the highest bound to
     * the last.
     */
    bucketOf: (value: number): number =>
      Math.min(Math.max(Math.floor(Math.log2(value / lowest) * perDoubling), 0), bucketCount - 1),
    /** The lower bound of a bucket. A fraction is a place within the bucket. */
    boundAt: (place: number): number => lowest * 2 ** (place / perDoubling),
  };
}

/** How many values are in each bucket. 32-bit integers take half the memory; values of other weights than one need floats. */
export type BucketCounts = Uint32Array | Float64Array;

/** Changes the counts in place, because it runs for every answer. */
export function addToBucket(counts: BucketCounts, bucket: number, weight = 1): void {
  counts[bucket] = (counts[bucket] ?? 0) + weight;
}

/**
 * The bucket in which a running total over the buckets reaches a share of all values, and the position in that bucket,
 * from 0 to 1. Undefined without values.
 */
export function reachedAt(
  histograms: readonly BucketCounts[],
  { share, total }: { readonly share: number; readonly total: number },
): { readonly bucket: number; readonly within: number } | undefined {
  const [first] = histograms;
  if (first === undefined || total === 0) return undefined;
  let left = share * total;
  for (let bucket = 0; bucket < first.length; bucket += 1) {
    let count = 0;
    for (const counts of histograms) count += counts[bucket] ?? 0;
    if (count > 0 && left <= count) return { bucket, within: left / count };
    left -= count;
  }
  // Rounding errors may make the sum of all buckets smaller than the share.
  return { bucket: first.length - 1, within: 1 };
}
