import { expect, it } from 'vitest';
import { createRepeatLimit } from './repeat-limit.ts';

it('logs twenty records of a kind in ten seconds, each kind for itself, and says later how many were left out', () => {
  let now = 0;
  const limit = createRepeatLimit({ now: () => now });
  const told = (kind: string, times: number): number =>
    Array.from({ length: times }, () => limit.take(kind)).filter(({ isTold }) => isTold).length;
  expect(told('a', 500)).toBe(20);
  expect(told('b', 3)).toBe(3);
  now = 9_999;
  expect(limit.take('a')).toEqual({ isTold: false, suppressed: undefined });
  now = 10_000;
  expect(limit.take('a')).toEqual({ isTold: true, suppressed: 481 });
  expect(limit.take('a')).toEqual({ isTold: true, suppressed: undefined });
});

it('keeps no more than a bounded number of kinds', () => {
  const limit = createRepeatLimit({ now: () => 0 });
  for (let count = 0; count < 20; count += 1) limit.take('first');
  for (let count = 0; count < 10_000; count += 1) limit.take(`kind ${count}`);
  expect(limit.take('first').isTold).toBe(true);
});
