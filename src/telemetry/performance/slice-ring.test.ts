import { expect, test } from 'vitest';
import { createSliceRing } from './slice-ring.ts';

const begin = () => {
  let made = 0;
  const ring = createSliceRing<number[]>({ count: 3, widthMs: 100, empty: () => ((made += 1), []) });
  const seen = (now: number): readonly number[] =>
    ring
      .live(now)
      .flat()
      .toSorted((a, b) => a - b);
  return { ring, seen, made: () => made };
};

test('a window is the slice of the moment and those before it, and turns by whole slices', () => {
  const { ring, seen, made } = begin();
  for (const now of [1000, 1099, 1100, 1250]) ring.at(now).push(now);
  expect(made()).toBe(3);
  expect(seen(1299)).toEqual([1000, 1099, 1100, 1250]);
  expect(seen(1300)).toEqual([1100, 1250]);
  expect(seen(1499)).toEqual([1250]);
  expect(seen(1500)).toEqual([]);
});

test('nothing is kept beyond the window', () => {
  const { ring, seen } = begin();
  for (let now = 0; now < 10_000; now += 50) ring.at(now).push(now);
  expect(seen(9999)).toEqual([9700, 9750, 9800, 9850, 9900, 9950]);
  ring.at(50_000).push(50_000);
  expect(seen(50_000)).toEqual([50_000]);
});

test('a clock that is set back makes nothing newer than it is', () => {
  const { ring, seen } = begin();
  ring.at(1000).push(1000);
  ring.at(1100).push(1100);
  expect(seen(1050)).toEqual([1000]);
  ring.at(700).push(700);
  expect(seen(700)).toEqual([700]);
  expect(seen(1150)).toEqual([1100]);
});
