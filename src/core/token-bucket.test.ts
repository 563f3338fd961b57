import { expect, it } from 'vitest';
import { hasToken, minuteBucket, minuteStatus, rateStatus, takeToken, takeTokens } from './token-bucket.ts';

const size = { rate: 100, burst: 200 };

it.each([
  ['full', 0, { remaining: 200, resetSeconds: 0, nextSeconds: 1 }],
  ['one token short', 10, { remaining: 199, resetSeconds: 1, nextSeconds: 1 }],
  ['half of a token short', 5, { remaining: 199, resetSeconds: 1, nextSeconds: 1 }],
  ['one token from empty', 1990, { remaining: 1, resetSeconds: 2, nextSeconds: 1 }],
  ['empty', 2000, { remaining: 0, resetSeconds: 2, nextSeconds: 1 }],
  ['shrunk below what was taken', 5000, { remaining: 0, resetSeconds: 5, nextSeconds: 4 }],
])('a bucket that is %s', (_, fullInMs, status) => {
  expect(rateStatus(fullInMs, size)).toEqual({ limit: 100, ...status });
  expect(hasToken(fullInMs, size)).toBe(status.remaining > 0);
});

it('returns how long a key over its rate has to wait', () => {
  expect(rateStatus(5000, { rate: 0.2, burst: 1 })).toMatchObject({ remaining: 0, nextSeconds: 5 });
  expect(rateStatus(2500, { rate: 0.2, burst: 1 })).toMatchObject({ remaining: 0, nextSeconds: 3 });
});

it('takes one token at a time', () => {
  expect(takeToken(0, size)).toBe(10);
  expect(takeToken(10, size)).toBe(20);
});

it('of a minute may lack tokens for an hour, and takes none back beyond full', () => {
  const minute = minuteBucket(6_000);
  expect(takeTokens(0, minute, 9_000)).toBe(90_000);
  expect(takeTokens(90_000, minute, -12_000)).toBe(0);
  expect(takeTokens(0, minute, 1e9)).toBe(3_660_000);
  expect(minuteStatus(0, 6_000)).toEqual({ limit: 6_000, remaining: 6_000, resetSeconds: 0, nextSeconds: 1 });
  expect(minuteStatus(90_000, 6_000)).toEqual({ limit: 6_000, remaining: 0, resetSeconds: 90, nextSeconds: 31 });
});
