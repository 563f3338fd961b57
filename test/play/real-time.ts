import { setTimeout as pause } from 'node:timers/promises';
import { createScheduler, type Scheduler } from '../simulation/scheduler.ts';

/** The scheduler of the simulation, whose time follows this machine's. */
export interface RealTime {
  readonly scheduler: Scheduler;
  /** Lets events happen when they are due, and `check` after each, until it is over. */
  readonly run: (isOver: () => boolean, check: () => void) => Promise<void>;
  /** When this process could not keep time, because the machine was busy: no promise in time is to be checked then. */
  readonly onLate: (note: (fromMs: number, untilMs: number) => void) => void;
}

const tickMs = 1;
/** Below what a check allows for. */
const lateMs = 150;

export function createRealTime(): RealTime {
  const begunMs = performance.now();
  const elapsed = (): number => performance.now() - begunMs;
  const scheduler = createScheduler(() => Promise.resolve());
  let note: (fromMs: number, untilMs: number) => void = () => undefined;
  return {
    scheduler,
    onLate: (run) => {
      note = run;
    },
    run: async (isOver, check) => {
      let lastMs = elapsed();
      while (!isOver()) {
        const nowMs = elapsed();
        if (nowMs - lastMs > lateMs) note(lastMs, nowMs);
        lastMs = nowMs;
        await scheduler.runUntil(nowMs, check);
        check();
        await pause(tickMs);
      }
    },
  };
}
