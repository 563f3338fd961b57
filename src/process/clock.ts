import { type Clock, waitFor } from '../core/clock.ts';

/** The real time. A timer keeps the process alive until it runs or is cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** `waitFor` in real time. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return waitFor(delayMs, { clock: systemClock, signal });
}
