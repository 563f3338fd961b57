import { expect, it } from 'vitest';
import { forgetOldest, putNewest } from './put-newest.ts';

it('keeps the newest entries of a map, and returns what was forgotten', () => {
  const entries = new Map<string, number>();
  expect(['a', 'b', 'a', 'c', 'd'].map((key, index) => putNewest(entries, 2, [key, index]))).toEqual([
    ...[undefined, undefined, undefined, 1, 2],
  ]);
  expect([...entries]).toEqual([
    ['c', 3],
    ['d', 4],
  ]);
});

it('forgets the first entry beyond the bound, of a map in the order of insertion or of a set', () => {
  const known = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  known.set('a', 3);
  forgetOldest(known, 2);
  expect([...known.keys()]).toEqual(['a', 'b']);
  forgetOldest(known, 1);
  expect([...known.keys()]).toEqual(['b']);
  const seen = new Set([1, 2]);
  forgetOldest(seen, 1);
  expect([...seen]).toEqual([2]);
});
