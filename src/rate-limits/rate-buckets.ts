import type { Clock } from '../core/clock.ts';
import { type BucketSize, takeToken } from '../core/token-bucket.ts';

/** The buckets of keys, in memory. Those that are full are forgotten. */
export interface RateBuckets {
  /** Time until the bucket is full, milliseconds; one that had another size before is empty at most. */
  readonly fullInMs: (id: string, size: BucketSize) => number;
  /** Takes a token and gives the time until the bucket is full again. */
  readonly take: (id: string, size: BucketSize) => number;
  readonly remembered: () => number;
}

const leastSweep = 1_000;

export function createRateBuckets(clock: Clock): RateBuckets {
  /** When each bucket will be full. */
  const fullAt = new Map<string, number>();
  let sweepAt = leastSweep;

  /** Runs once the buckets have doubled since the last time: each request pays for a constant share of it. */
  function sweep(now: number): void {
    for (const [id, at] of fullAt) if (at <= now) fullAt.delete(id);
    sweepAt = Math.max(leastSweep, fullAt.size * 2);
  }

  function fullInMs(id: string, { rate, burst }: BucketSize): number {
    const now = clock.elapsed();
    const left = Math.max(0, (fullAt.get(id) ?? 0) - now);
    const emptyMs = (burst * 1000) / rate;
    if (left <= emptyMs) return left;
    // From now on it fills as one of its new size does.
    fullAt.set(id, now + emptyMs);
    return emptyMs;
  }

  return {
    fullInMs,
    take: (id, size) => {
      const now = clock.elapsed();
      const after = takeToken(fullInMs(id, size), size);
      fullAt.set(id, now + after);
      if (fullAt.size >= sweepAt) sweep(now);
      return after;
    },
    remembered: () => fullAt.size,
  };
}
