import { expect, it } from 'vitest';
import { dayStart, periodEnd, periodStart } from './budget-period.ts';

const at = (text: string): number => Date.parse(text);

it.each([
  ['day', '2026-07-01T00:00:00Z', '2026-07-01T00:00:00Z'],
  ['day', '2026-07-01T23:59:59.999Z', '2026-07-01T00:00:00Z'],
  ['week', '2026-07-06T00:00:00Z', '2026-07-06T00:00:00Z'],
  ['week', '2026-07-05T23:59:59.999Z', '2026-06-29T00:00:00Z'],
  ['week', '2026-07-08T12:00:00Z', '2026-07-06T00:00:00Z'],
  ['week', '2027-01-01T00:00:00Z', '2026-12-28T00:00:00Z'],
  ['month', '2026-07-31T23:59:59.999Z', '2026-07-01T00:00:00Z'],
  ['month', '2028-02-29T12:00:00Z', '2028-02-01T00:00:00Z'],
  ['month', '2026-12-31T23:59:59Z', '2026-12-01T00:00:00Z'],
  ['total', '2026-07-31T23:59:59Z', '1970-01-01T00:00:00Z'],
] as const)('a %s that %s is in began at %s', (period, moment, start) => {
  expect(periodStart(period, at(moment))).toBe(at(start));
  const end = periodEnd(period, at(moment));
  expect([end > at(moment), periodStart(period, end - 1)]).toEqual([true, at(start)]);
  if (period !== 'total') expect(periodStart(period, end)).toBe(end);
});

it('a week begins on a Monday whatever the day, and every day is in it', () => {
  for (let day = at('2026-01-01T00:00:00Z'); day < at('2027-02-01T00:00:00Z'); day += 86_400_000) {
    const start = periodStart('week', day + 1);
    expect([new Date(start).getUTCDay(), start <= day, day - start < 7 * 86_400_000]).toEqual([1, true, true]);
    expect(dayStart(day + 1)).toBe(day);
  }
});
