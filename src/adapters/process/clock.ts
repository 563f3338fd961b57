import type { Clock } from '../../core/clock.ts';

/** The real time. Timers keep the process alive: who arms one disarms it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after the delay, or at once when the signal is (or gets) aborted. Never rejects. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const finish = (): void => {
      disarm();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const disarm = systemClock.after(delayMs, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
