/**
 * Keeps requests away from an endpoint that refused a request because the endpoint was full, for the time that the refusal names.
 * The endpoint needs no probe afterwards.
 */
export interface Cooling {
  /** How much longer, ms; 0: not at all. */
  readonly leftMs: (now: number) => number;
  readonly refused: (
    now: number,
    attempt: { readonly begunAt: number; readonly retryAfterSeconds: number | undefined },
  ) => void;
  readonly served: () => void;
}

/** Longest wait that is accepted from an engine. Some engines name the end of the day. */
const maxAskedMs = 60_000;
/** The wait if the engine names none: after the first refusal, and at most, after several in a row. */
const firstMs = 500;
const maxMs = 10_000;

export function createCooling(): Cooling {
  let until = -Infinity;
  let refusals = 0;
  return {
    leftMs: (now) => Math.max(0, until - now),
    refused: (now, { begunAt, retryAfterSeconds = 0 }) => {
      // Refusals of attempts that were under way together count as one.
      if (begunAt >= until) refusals += 1;
      const ownMs = Math.min(maxMs, firstMs * 2 ** (refusals - 1));
      until = Math.max(until, now + (retryAfterSeconds > 0 ? Math.min(maxAskedMs, retryAfterSeconds * 1000) : ownMs));
    },
    served: () => {
      refusals = 0;
    },
  };
}
