/**
 * A bucket of tokens that fills continuously. Its whole state is the time until it is full. So one moment is stored for
 * a bucket, and nothing for a full one. A key's rate or burst may change while the bucket is in use.
 */
export interface BucketSize {
  /** Tokens per second. */
  readonly rate: number;
  /** Tokens that it holds when full. */
  readonly burst: number;
  /** How long a bucket may take to be empty again, because more was taken than it held; milliseconds. Absent: it never lacks any. */
  readonly maxOwedMs?: number;
}

/**
 * The bucket of a limit in tokens of models a minute. It holds those of one minute. A request passes while one is left, and may take
 * more than are left (docs/decisions/0118-tokens-a-minute-are-reserved.md).
 */
export const minuteBucket = (perMinute: number): BucketSize => ({
  rate: perMinute / 60,
  burst: perMinute,
  maxOwedMs: maxOwedTokensMs,
});
export const maxOwedTokensMs = 3_600_000;

/** The state of a bucket for its caller (docs/reference/api.md §8). */
export interface RateStatus {
  /** Sustained requests per second; of a limit in tokens: tokens a minute. */
  readonly limit: number;
  /** Whole requests or tokens admissible now. */
  readonly remaining: number;
  /** Whole seconds, rounded up, until the bucket is completely full. */
  readonly resetSeconds: number;
  /** Whole seconds, rounded up and at least one, until the next request is admitted. */
  readonly nextSeconds: number;
}

/** The rounding error, in tokens, that sums of floats may have. Added once, not with every request. */
const tolerance = 1e-4;

function tokensAt(fullInMs: number, { rate, burst }: BucketSize): number {
  return burst - (fullInMs * rate) / 1000 + tolerance;
}

/** Whether a request is admitted. */
export function hasToken(fullInMs: number, size: BucketSize): boolean {
  return tokensAt(fullInMs, size) >= 1;
}

/** How long the bucket takes to fill after one more token was taken, milliseconds. */
export function takeToken(fullInMs: number, { rate }: BucketSize): number {
  return fullInMs + 1000 / rate;
}

/** Longest time until the bucket is full, milliseconds. */
export function maxFillMs({ rate, burst, maxOwedMs = 0 }: BucketSize): number {
  return (burst * 1000) / rate + maxOwedMs;
}

/** How long the bucket takes to fill after tokens were taken, milliseconds. Below zero: they are given back. */
export function takeTokens(fullInMs: number, size: BucketSize, tokens: number): number {
  return Math.min(maxFillMs(size), Math.max(0, fullInMs + (tokens * 1000) / size.rate));
}

export function rateStatus(fullInMs: number, size: BucketSize): RateStatus {
  const tokens = tokensAt(fullInMs, size);
  return {
    limit: size.rate,
    remaining: Math.max(0, Math.floor(tokens)),
    resetSeconds: Math.max(0, Math.ceil((fullInMs - tolerance) / 1000)),
    nextSeconds: Math.max(1, Math.ceil((1 - tokens) / size.rate)),
  };
}

/** The state of the bucket of a limit in tokens a minute. */
export const minuteStatus = (fullInMs: number, perMinute: number): RateStatus => ({
  ...rateStatus(fullInMs, minuteBucket(perMinute)),
  limit: perMinute,
});
