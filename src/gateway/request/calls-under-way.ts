import type { Dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';

export type CallsUnderWay = ReturnType<typeof createCallsUnderWay>;

/** The calls of one answer, one after the other or side by side. A pause holds all of them, and those that begin later. */
export function createCallsUnderWay() {
  const running = new Set<Dispatch>();
  let isPaused = false;
  return {
    /** Counts a call as under way until it ends. */
    ended: async (call: Dispatch): Promise<DispatchEnd> => {
      running.add(call);
      if (isPaused) call.pause();
      try {
        return await call.ended;
      } finally {
        running.delete(call);
      }
    },
    count: (): number => running.size,
    pause: (): void => {
      isPaused = true;
      for (const one of running) one.pause();
    },
    resume: (): void => {
      isPaused = false;
      for (const one of running) one.resume();
    },
  };
}
