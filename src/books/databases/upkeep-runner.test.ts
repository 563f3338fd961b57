import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { dropBefore } from './upkeep.ts';
import { createDeletionTime } from './upkeep-runner.ts';

const hour = 3_600_000;
const month = 31 * 24 * hour;

describe('the time by which requests are deleted', () => {
  function begin() {
    const clock = createFakeClock(0);
    const time = createDeletionTime(clock);
    /** The time after these hours, asked for each minute. */
    const after = (hours: number): number => {
      for (let minute = 0; minute < hours * 60; minute += 1) {
        clock.advance(60_000);
        time();
      }
      return time();
    };
    return { clock, time, after };
  }

  it('is the clock, with its corrections', () => {
    const { clock, after } = begin();
    expect(after(30)).toBe(30 * hour);
    clock.jump(hour);
    expect(after(1)).toBe(32 * hour);
  });

  it('follows a clock that was set a month forward a day later', () => {
    const { clock, time, after } = begin();
    clock.jump(month);
    expect([time(), after(23), after(2)]).toEqual([0, 23 * hour, month + 25 * hour]);
  });

  it('never follows a clock that was set back within the day', () => {
    const { clock, after } = begin();
    clock.jump(month);
    expect(after(10)).toBe(10 * hour);
    clock.jump(-month);
    expect([after(1), after(30)]).toEqual([11 * hour, 41 * hour]);
  });

  it('follows a clock that was set back from the start at once', () => {
    const { clock, time } = begin();
    clock.jump(-month);
    expect(time()).toBe(-month);
  });
});

describe.each([1, 2, 30, 400])('with a retention of %i days', (retentionDays) => {
  const today = 20_000 * 24 * hour;

  it.each([0, 1, 11.9 * hour, 12 * hour, 24 * hour - 1])('whole days stay, %i ms after midnight', (since) => {
    expect(dropBefore({ retentionDays, now: () => today + since })).toBe(today - retentionDays * 24 * hour);
  });
});

it('everything stays with a retention of 0, and while no day is old enough', () => {
  expect(dropBefore({ retentionDays: 0, now: () => month })).toBe(0);
  expect(dropBefore({ retentionDays: 400, now: () => month })).toBe(0);
});
