import type { Clock } from '../../core/clock.ts';
import {
  exceededTokens,
  type ExpectedTokens,
  type LimitsAsk,
  type TokenLimit,
  type TokenLimitName,
  verdictOf,
} from '../../core/limits.ts';
import {
  type BucketSize,
  maxFillMs,
  minuteBucket,
  minuteStatus,
  type RateStatus,
  takeToken,
  takeTokens,
} from '../../core/token-bucket.ts';

const minSweep = 1_000;

/** Of requests, the id of a bucket is that of its key. Ids of limits in tokens have a colon, so none is that of a key. */
export type RateBuckets = ReturnType<typeof createRateBuckets>;

/** The buckets of limits of rates, in memory. Full buckets are forgotten. */
export function createRateBuckets(clock: Clock) {
  /** When each bucket will be full. */
  const fullAt = new Map<string, number>();
  let sweepAt = minSweep;

  /** Forgets full buckets. Runs when the number of buckets has doubled, so that its cost per request is constant. */
  function sweep(now: number): void {
    for (const [id, at] of fullAt) if (at <= now) fullAt.delete(id);
    sweepAt = Math.max(minSweep, fullAt.size * 2);
  }

  function fullInMs(id: string, size: BucketSize): number {
    const now = clock.elapsed();
    const left = Math.max(0, (fullAt.get(id) ?? 0) - now);
    const maxMs = maxFillMs(size);
    if (left <= maxMs) return left;
    // The size was changed: the bucket now counts as empty.
    fullAt.set(id, now + maxMs);
    return maxMs;
  }

  function keep(id: string, inMs: number): void {
    const now = clock.elapsed();
    fullAt.set(id, now + inMs);
    if (fullAt.size >= sweepAt) sweep(now);
  }

  const tokensFullInMs = ({ id, perMinute }: TokenLimit): number => fullInMs(id, minuteBucket(perMinute));
  return {
    /**
     * Time until the bucket is full, milliseconds. At most the time of an empty bucket of this size, even if it was
     * larger before.
     */
    fullInMs,
    tokensFullInMs,
    /** Takes a token and returns the time until the bucket is full again, milliseconds. */
    take: (id: string, size: BucketSize): number => {
      const after = takeToken(fullInMs(id, size), size);
      keep(id, after);
      return after;
    },
    /** Takes tokens of models, or gives some back. */
    takeTokens: (limit: TokenLimit, tokens: number): void =>
      keep(limit.id, takeTokens(tokensFullInMs(limit), minuteBucket(limit.perMinute), tokens)),
    remembered: (): number => fullAt.size,
  };
}

/** The state of the limit of which the least is left. Undefined: there is no limit. */
export function tightest(
  limits: readonly TokenLimit[],
  fullInMs: (limit: TokenLimit, at: number) => number,
): RateStatus | undefined {
  const statuses = limits.map((limit, at) => minuteStatus(fullInMs(limit, at), limit.perMinute));
  return statuses.toSorted((a, b) => a.remaining - b.remaining || b.nextSeconds - a.nextSeconds)[0];
}

/** The tokens that one request holds of its limits in this process. */
export function holdTokens(buckets: RateBuckets, { tokens: limits = [], notEnforced }: LimitsAsk) {
  let held: number | undefined;
  let would: readonly TokenLimitName[] = [];
  /** The limits that count the request. One that would have refused it does not. */
  let counting = limits;
  function take(tokens: number): void {
    for (const limit of counting) buckets.takeTokens(limit, tokens - (held ?? 0));
    held = tokens;
  }
  return {
    wouldRefuse: (): readonly TokenLimitName[] => would,
    short: (): TokenLimitName | undefined => {
      const exceeded = exceededTokens(limits, buckets.tokensFullInMs);
      counting = limits.filter((limit) => !exceeded.includes(limit));
      const names = exceeded.map(({ by }) => by);
      const verdict = verdictOf(names, { notEnforced });
      would = verdict.would;
      return verdict.by;
    },
    status: (): RateStatus | undefined => tightest(limits, buckets.tokensFullInMs),
    reserve: ({ tokens }: ExpectedTokens): void => take(tokens),
    /** Holds so many from now on, if it holds any. */
    adjust: (expected: ExpectedTokens | undefined): void => {
      if (expected !== undefined && held !== undefined) take(expected.tokens);
    },
    /** What was used takes the place of what is held. A request that held nothing has used nothing. */
    settle: (used: ExpectedTokens | undefined): void => {
      if (held === undefined) return;
      take(used?.tokens ?? 0);
      held = undefined;
    },
  };
}
