import { type Clock, waitFor } from '../core/clock.ts';

/** The real time. Timers keep the process alive: who arms one disarms it. */
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
  return waitFor(delayMs, { clock: systemClock, ...(signal === undefined ? {} : { signal }) });
}
