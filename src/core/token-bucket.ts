/**
 * A bucket of tokens that fills continuously. Its whole state is the time until it is full. So one moment is stored for
 * a bucket, and nothing for a full one. A key's rate or burst may change while the bucket is in use.
 */
export interface BucketSize {
  /** Tokens per second. */
  readonly rate: number;
  /** Tokens that it holds when full. */
  readonly burst: number;
}

/** The state of a bucket for its caller (docs/reference/api.md §8). */
export interface RateStatus {
  /** Sustained requests per second. */
  readonly limit: number;
  /** Whole requests admissible now. */
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

export function rateStatus(fullInMs: number, size: BucketSize): RateStatus {
  const tokens = tokensAt(fullInMs, size);
  return {
    limit: size.rate,
    remaining: Math.max(0, Math.floor(tokens)),
    resetSeconds: Math.max(0, Math.ceil((fullInMs - tolerance) / 1000)),
    nextSeconds: Math.max(1, Math.ceil((1 - tokens) / size.rate)),
  };
}
