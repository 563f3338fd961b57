import type { StoreTime } from '../../src/books/databases/machine.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * A program of a world, such as one service. It has its own clocks, can be paused, and can be killed: from then on none
 * of its code runs, and all that it sends is dropped.
 */
export interface Program {
  readonly name: string;
  readonly time: StoreTime;
  readonly isAlive: () => boolean;
  /** Timers that are armed, and messages under way to it. */
  readonly waiting: () => number;
  /** Runs code of the program, after the delay and not before the end of a pause. */
  readonly deliver: (delayMs: number, run: () => void) => () => void;
  readonly pause: (ms: number) => void;
  /** Sets its wall clock forward, or back. No timer notices. */
  readonly jump: (ms: number) => void;
  readonly kill: () => void;
  /** Runs when the program dies: its connections break. */
  readonly onDeath: (run: () => void) => void;
}

export function createProgram(name: string, scheduler: Scheduler, startedAt: number): Program {
  const bornAt = scheduler.now();
  let pausedUntil = 0;
  let jumpedMs = 0;
  let isAlive = true;
  let waiting = 0;
  const deaths: (() => void)[] = [];

  /** What fell due in a pause, in its order. It runs at the end of the pause. */
  let held: (() => void)[] = [];

  function hold(run: () => void): void {
    held.push(run);
    if (held.length === 1) scheduler.after(pausedUntil - scheduler.now(), endPause);
  }

  function endPause(): void {
    // A second pause may have begun in the first one.
    if (scheduler.now() < pausedUntil) {
      scheduler.after(pausedUntil - scheduler.now(), endPause);
      return;
    }
    const runs = held;
    held = [];
    for (const run of runs) scheduler.after(0, run);
  }

  function deliver(delayMs: number, run: () => void): () => void {
    waiting += 1;
    const cancel = scheduler.after(delayMs, attempt);
    let isOver = false;
    function attempt(): void {
      if (isOver) return;
      if (isAlive && scheduler.now() < pausedUntil) {
        hold(attempt);
        return;
      }
      end();
      if (isAlive) run();
    }
    function end(): void {
      if (!isOver) waiting -= 1;
      isOver = true;
    }
    return () => {
      end();
      cancel();
    };
  }

  return {
    name,
    isAlive: () => isAlive,
    waiting: () => waiting,
    deliver,
    pause: (ms) => {
      pausedUntil = Math.max(pausedUntil, scheduler.now() + ms);
    },
    jump: (ms) => {
      jumpedMs += ms;
    },
    kill: () => {
      if (!isAlive) return;
      isAlive = false;
      for (const run of deaths) run();
    },
    onDeath: (run) => void deaths.push(run),
    time: {
      now: () => Math.floor(startedAt + scheduler.now() + jumpedMs),
      elapsed: () => scheduler.now() - bornAt + 1_000,
      // As Node's timers do: a rest of 10⁻¹⁰ ms would be no time at all beside a large number, and a timer that is armed
      // again for its rest would fire for ever.
      after: (delayMs, run) => deliver(Math.max(1, Math.trunc(delayMs)), run),
      // Longer than zero, so that a message which is on its way comes first.
      nextTurn: (run) => void deliver(0.01, run),
    },
  };
}
