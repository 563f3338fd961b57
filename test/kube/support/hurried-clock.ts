import type { Clock } from '../../../src/core/clock.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** A clock that goes with the real time, because an API server does, and can be moved ahead by days. */
export interface HurriedClock extends Clock {
  readonly advance: (ms: number) => void;
  readonly stop: () => void;
}

const stepMs = 10;

export function startHurriedClock(): HurriedClock {
  const clock = createFakeClock(Date.now());
  const timer = setInterval(() => clock.advance(stepMs), stepMs);
  return { ...clock, stop: () => clearInterval(timer) };
}
