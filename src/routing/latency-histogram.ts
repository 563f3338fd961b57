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
