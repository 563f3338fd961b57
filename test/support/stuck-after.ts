/**
 * After this long a test that waits for an event is stuck, milliseconds: far more than a busy machine needs. A promise in time is a
 * matter for a benchmark.
 */
export const stuckAfterMs = 60_000;
