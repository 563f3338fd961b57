import type { KeyState } from './key-states.ts';

/** A request, as far as limits count it. */
export interface CountedCall {
  readonly startedAt: number;
  /** When its answer began to arrive. Undefined: nothing came. */
  readonly headAt: number | undefined;
  readonly endedAt: number;
  readonly status: number | undefined;
}

export interface RateLimit {
  readonly rate: number;
  readonly burst: number;
}

/** How much later than it came a request may be counted, without a fault. */
export const countedWithinMs = 250;

/** The fewest tokens of a bucket that each of these requests takes one of, up to a moment. */
function tokensAt(starts: readonly number[], { rate, burst }: RateLimit, until: number): number {
  let [tokens, at] = [burst, -Infinity];
  for (const start of starts) {
    if (start > until) break;
    tokens = Math.min(burst, tokens + ((start - at) * rate) / 1_000) - 1;
    at = start;
  }
  return Math.min(burst, tokens + ((until - at) * rate) / 1_000);
}

/**
 * Whether the rate may refuse a request: if every request of the key that came by then had taken a token as late as it could,
 * too little would be left.
 */
export function mayRefuseRate(call: CountedCall, ofKey: readonly CountedCall[], limit: RateLimit): boolean {
  // One that came a moment later, at another replica, may have been counted first.
  const starts = ofKey
    .filter(({ startedAt }) => startedAt <= Math.min(call.startedAt + countedWithinMs, call.endedAt))
    .map(({ startedAt }) => Math.min(startedAt, call.startedAt))
    .toSorted((one, other) => one - other);
  const late = (countedWithinMs * limit.rate) / 1_000;
  return tokensAt(starts, limit, call.startedAt) - late < 1;
}

/** Admitted requests of a key beyond its rate: some order of their tokens must explain them all. A fault may fill the bucket. */
export function pastRate(
  ofKey: readonly CountedCall[],
  { rate, burst }: RateLimit,
  isCalm: (from: number, until: number) => boolean,
): readonly CountedCall[] {
  let [tokens, at] = [burst, -Infinity];
  const late = 1 + (countedWithinMs * rate) / 1_000;
  return ofKey
    .filter(({ status }) => status === 200 || status === 400)
    .toSorted((one, other) => one.startedAt - other.startedAt)
    .filter((call) => {
      const wasCalm = at === -Infinity || isCalm(at, call.startedAt);
      tokens = wasCalm ? Math.min(burst, tokens + ((call.startedAt - at) * rate) / 1_000) - 1 : burst - 1;
      at = call.startedAt;
      return tokens < -late;
    });
}

/** Whether so many requests may have been in flight while this one was refused. */
export const mayRefuseCalls = (call: CountedCall, ofWorkspace: readonly CountedCall[], maxInFlight: number): boolean =>
  ofWorkspace.filter(
    (other) => other !== call && other.startedAt <= call.endedAt && other.endedAt + countedWithinMs >= call.startedAt,
  ).length >= maxInFlight;

/** Requests that were certainly in flight beside as many others as there may be: their answers had begun, and not ended. */
export const pastCalls = (ofWorkspace: readonly CountedCall[], maxInFlight: number): readonly CountedCall[] =>
  ofWorkspace.filter(
    ({ headAt }) =>
      headAt !== undefined &&
      ofWorkspace.filter(
        (other) => other.headAt !== undefined && other.headAt <= headAt && other.endedAt - countedWithinMs > headAt,
      ).length > maxInFlight,
  );

/** Failed authentications of an address within this time block it for as long, if there are more than so many. */
const blocks = { withinMs: 30_000, tolerated: 30 };

/** Whether the address of these requests may be blocked. */
export const mayBeBlocked = (call: CountedCall, ofAddress: readonly CountedCall[]): boolean =>
  ofAddress.filter(
    ({ status, endedAt }) => status === 401 && endedAt > call.startedAt - 2 * blocks.withinMs - countedWithinMs,
  ).length > blocks.tolerated;

/** The statuses with which a key in one of these states is refused. */
export function refusalsOf(states: ReadonlySet<KeyState>): ReadonlySet<number> {
  const refusals = { active: undefined, suspended: 403, revoked: 401, expired: 401 };
  return new Set([...states].flatMap((state) => refusals[state] ?? []));
}
