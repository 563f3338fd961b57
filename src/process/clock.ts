import { type Clock, waitFor } from '../core/clock.ts';

/**
 * If a timer is later than this, the process had no processor. The loop runs timers before it reads sockets, so data
 * that arrived in the meantime is still unread and would count as silence.
 */
const lateMs = 5;
/**
 * The process may be stopped again while it reads. A timer is put off at most this often, because turns can be long for
 * other reasons.
 */
const maxReads = 5;
const interruptedMs = 20;

/**
 * The real time. A late timer runs after the data that has arrived was read. A timer keeps the process alive until it
 * runs or is cancelled.
 */
export const systemClock: Clock = createClock(setTimeout);

/** The real time for work in the background: a timer does not keep the process alive. */
export const backgroundClock: Clock = createClock((run, delayMs) => setTimeout(run, delayMs).unref());

function createClock(start: (run: () => void, delayMs: number) => NodeJS.Timeout): Clock {
  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    after: (delayMs, run) => {
      const dueAt = performance.now() + delayMs;
      let turn: NodeJS.Immediate | undefined;
      /** One turn reads the data that has arrived. The next turn begins when all that data has been handled. */
      const runAfterReading = (reads: number): void => {
        const begunAt = performance.now();
        const end = (): void => {
          if (reads > 1 && performance.now() - begunAt >= interruptedMs) runAfterReading(reads - 1);
          else run();
        };
        turn = setImmediate(() => (turn = setImmediate(end)));
      };
      const timer = start(() => {
        if (performance.now() - dueAt < lateMs) run();
        else runAfterReading(maxReads);
      }, delayMs);
      return () => {
        clearTimeout(timer);
        if (turn !== undefined) clearImmediate(turn);
      };
    },
  };
}

/** `waitFor` in real time. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return waitFor(delayMs, { clock: systemClock, signal });
}
