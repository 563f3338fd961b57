import type { Dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';

/** The calls of one answer, one after the other or side by side. A pause holds all of them, and those that begin later. */
export interface CallsUnderWay extends Pick<Dispatch, 'pause' | 'resume'> {
  /** Counts a call as under way until it ends. */
  readonly ended: (call: Dispatch) => Promise<DispatchEnd>;
  readonly count: () => number;
}

export function createCallsUnderWay(): CallsUnderWay {
  const running = new Set<Dispatch>();
  let isPaused = false;
  return {
    ended: async (call) => {
      running.add(call);
      if (isPaused) call.pause();
      try {
        return await call.ended;
      } finally {
        running.delete(call);
      }
    },
    count: () => running.size,
    pause: () => {
      isPaused = true;
      for (const one of running) one.pause();
    },
    resume: () => {
      isPaused = false;
      for (const one of running) one.resume();
    },
  };
}
