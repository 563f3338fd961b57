import type { Clock } from '../../src/core/clock.ts';

export interface FakeClock extends Clock {
  /** Moves time on, running the timers that fall due, each at its own moment. */
  readonly advance: (ms: number) => void;
  /** Lets time pass while the process cannot run: what arrived meanwhile is read, and only then the timers run that fell due. */
  readonly holdUp: (ms: number, arrived: () => void) => Promise<void>;
  /** Sets the wall clock forward, or back where it is below zero, as an operator or a time server does. No timer notices. */
  readonly jump: (ms: number) => void;
  /** Timers armed now. */
  readonly armed: () => number;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that moves only when a test advances it. `now` is the wall clock it starts at. */
export function createFakeClock(now = 1_780_000_000_000): FakeClock {
  let passed = 0;
  let jumped = 0;
  const timers = new Set<Timer>();

  /** The timer that falls due first, up to a moment; of two at once, the one armed first. */
  const nextUntil = (until: number): Timer | undefined =>
    [...timers]
      .filter(({ at }) => at <= until)
      .reduce<Timer | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined);

  return {
    now: () => now + passed + jumped,
    elapsed: () => passed,
    after: (delayMs, run) => {
      const timer = { at: passed + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    jump: (ms) => {
      jumped += ms;
    },
    armed: () => timers.size,
    holdUp: async (ms, arrived) => {
      passed += ms;
      arrived();
      await new Promise((resolve) => setImmediate(resolve));
      for (let timer = nextUntil(passed); timer !== undefined; timer = nextUntil(passed)) {
        timers.delete(timer);
        timer.run();
      }
    },
    advance: (ms) => {
      const until = passed + ms;
      for (let timer = nextUntil(until); timer !== undefined; timer = nextUntil(until)) {
        timers.delete(timer);
        passed = timer.at;
        timer.run();
      }
      passed = until;
    },
  };
}
