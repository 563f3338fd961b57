import { type Clock, waitFor } from '../core/clock.ts';

/**
 * A timer that is later than this belongs to a process that was starved or stopped. The loop runs timers before it reads sockets: what
 * arrived meanwhile has not been read yet, and would count as silence.
 */
const lateMs = 20;

/** The real time. A timer that is late runs once what has arrived has been read, so that it sees it. A timer keeps the process alive until it runs or is cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (delayMs, run) => {
    const dueAt = performance.now() + delayMs;
    let turn: NodeJS.Immediate | undefined;
    const timer = setTimeout(() => {
      if (performance.now() - dueAt < lateMs) run();
      // One turn reads what has arrived; the next one begins when all that came of it was handled.
      else turn = setImmediate(() => (turn = setImmediate(run)));
    }, delayMs);
    return () => {
      clearTimeout(timer);
      if (turn !== undefined) clearImmediate(turn);
    };
  },
};

/** `waitFor` in real time. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return waitFor(delayMs, { clock: systemClock, signal });
}
