import { expect, test } from 'vitest';
import { createHistogram, merge, percentile, record, total, type Histogram } from './histogram.ts';

function histogramOf(values: readonly number[]): Histogram {
  const histogram = createHistogram();
  for (const value of values) record(histogram, value);
  return histogram;
}

test('percentiles are within 1.6 % of those of the sorted values, over seven orders of magnitude', () => {
  const values = Array.from({ length: 5_000 }, (_, index) => 0.001 * 1.0035 ** index).filter(
    (value) => value < 1_000_000,
  );
  const histogram = histogramOf(values);
  for (const share of [0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1]) {
    const exact = values[Math.ceil(share * values.length) - 1] ?? Number.NaN;
    const told = percentile(histogram, share) ?? Number.NaN;
    // Below 64 µs a bucket is one microsecond wide.
    expect(Math.abs(told - exact), `p${share * 100}`).toBeLessThanOrEqual(Math.max(exact * 0.016, 0.0006));
  }
});

test('an empty histogram has no percentile', () => {
  expect(percentile(createHistogram(), 0.5)).toBeUndefined();
});

test('one record is every percentile', () => {
  const histogram = histogramOf([5]);
  expect(percentile(histogram, 0)).toBe(percentile(histogram, 1));
});

test('a value past the last bucket is counted, not lost', () => {
  expect(total(histogramOf([0.01, 1e12]))).toBe(2);
});

test('merging is the same as recording everything in one', () => {
  const [left, right] = [
    [0.1, 3, 77],
    [0.02, 3, 900],
  ] as const;
  expect(merge([histogramOf(left), histogramOf(right)])).toEqual(histogramOf([...left, ...right]));
});
