/** Keeps requests from an endpoint that refused one for want of room, for as long as it asked. The endpoint needs no probe afterwards. */
export interface Cooling {
  readonly isCool: (now: number) => boolean;
  readonly refused: (
    now: number,
    attempt: { readonly begunAt: number; readonly retryAfterSeconds: number | undefined },
  ) => void;
  readonly served: () => void;
}

/** The longest wait that an engine may ask for: some name the end of the day. */
const mostAskedMs = 60_000;
/** Where the engine names no time: the wait after the first refusal, and the longest after several in a row. */
const firstMs = 500;
const mostMs = 10_000;

export function createCooling(): Cooling {
  let until = -Infinity;
  let refusals = 0;
  return {
    isCool: (now) => now < until,
    refused: (now, { begunAt, retryAfterSeconds = 0 }) => {
      // Attempts that were under way together were refused together: that is one refusal.
      if (begunAt >= until) refusals += 1;
      const ownMs = Math.min(mostMs, firstMs * 2 ** (refusals - 1));
      until = Math.max(until, now + (retryAfterSeconds > 0 ? Math.min(mostAskedMs, retryAfterSeconds * 1000) : ownMs));
    },
    served: () => {
      refusals = 0;
    },
  };
}
