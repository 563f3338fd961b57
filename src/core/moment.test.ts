import { expect, it } from 'vitest';
import { readMoment } from './moment.ts';

it.each([
  ['2026-07-01', Date.UTC(2026, 6, 1)],
  ['2028-02-29', Date.UTC(2028, 1, 29)],
  ['2026-07-01T12:00Z', Date.UTC(2026, 6, 1, 12)],
  ['2026-07-01T12:00:00.5+02:00', Date.UTC(2026, 6, 1, 10, 0, 0, 500)],
])('%s is a moment', (text, at) => {
  expect(readMoment(text)).toBe(at);
});

it.each([
  ...['2027-02-31', '2027-02-29', '2027-04-31T00:00:00Z', '2027-13-01', '2027-00-10', '2027-01-00', '2027-01-32'],
  ...['2026-07-01T25:00Z', '2026-07-01T12:00', '2026-7-1', 'today', '', '1751328000000'],
])('%s is none', (text) => {
  expect(readMoment(text)).toBeUndefined();
});
