/**
 * Keeps requests away from an endpoint that refused a request because the endpoint was full, for the time that the refusal names.
 * The endpoint needs no probe afterwards.
 */
export type Cooling = ReturnType<typeof createCooling>;

/** Longest wait that is accepted from an engine. Some engines name the end of the day. */
const maxAskedMs = 60_000;
/** The wait if the engine names none: after the first refusal, and at most, after several in a row. */
const firstMs = 500;
const maxMs = 10_000;

export function createCooling() {
  let until = -Infinity;
  let refusals = 0;
  return {
    /** How much longer, ms; 0: not at all. */
    leftMs: (now: number): number => Math.max(0, until - now),
    refused: (
      now: number,
      { begunAt, retryAfterSeconds = 0 }: { readonly begunAt: number; readonly retryAfterSeconds: number | undefined },
    ): void => {
      // Refusals of attempts that were under way together count as one.
      if (begunAt >= until) refusals += 1;
      const ownMs = Math.min(maxMs, firstMs * 2 ** (refusals - 1));
      until = Math.max(until, now + (retryAfterSeconds > 0 ? Math.min(maxAskedMs, retryAfterSeconds * 1000) : ownMs));
    },
    served: (): void => {
      refusals = 0;
    },
  };
}
