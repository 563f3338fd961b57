import { expect, it } from 'vitest';
import { addToBucket, createLogScale, reachedAt } from './log-histogram.ts';

const scale = createLogScale({ lowest: 1, perDoubling: 1, bucketCount: 4 });

it.each([
  [0, 0],
  [0.5, 0],
  [1, 0],
  [1.9, 0],
  [2, 1],
  [8, 3],
  [1e300, 3],
])('counts %d in bucket %d', (value, bucket) => {
  expect(scale.bucketOf(value)).toBe(bucket);
});

it('gives the bounds of buckets, and places within them', () => {
  expect([0, 1, 3].map(scale.boundAt)).toEqual([1, 2, 8]);
  expect(scale.boundAt(0.5)).toBeCloseTo(Math.SQRT2);
});

it('finds where a share of the values of several histograms is reached', () => {
  const [one, other] = [new Uint32Array(4), new Uint32Array(4)];
  addToBucket(one, 0);
  addToBucket(one, 1, 2);
  addToBucket(other, 1);
  addToBucket(other, 3);
  expect(reachedAt([one, other], { share: 0.2, total: 5 })).toEqual({ bucket: 0, within: 1 });
  expect(reachedAt([one, other], { share: 0.5, total: 5 })).toEqual({ bucket: 1, within: 0.5 });
  expect(reachedAt([one, other], { share: 1, total: 5 })).toEqual({ bucket: 3, within: 1 });
});

it('finds nothing without values, and the end where rounding leaves a rest', () => {
  const counts = new Float64Array(4);
  expect(reachedAt([counts], { share: 0.5, total: 0 })).toBeUndefined();
  expect(reachedAt([], { share: 0.5, total: 0 })).toBeUndefined();
  addToBucket(counts, 2, 0.1);
  expect(reachedAt([counts], { share: 1, total: 0.3 })).toEqual({ bucket: 3, within: 1 });
});
