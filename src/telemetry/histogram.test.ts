import { describe, expect, it, test } from 'vitest';
import { type Chance, chanceFrom } from '../../test/support/chance.ts';
import { addSample, emptyHistogram, type Histogram, medianOf, newestAt, relativeError, totalOf } from './histogram.ts';

const histogramOf = (samples: readonly number[]): Histogram => {
  const histogram = emptyHistogram();
  samples.forEach((sample, index) => addSample(histogram, sample, index));
  return histogram;
};

/** The smallest value that at least half of the samples do not exceed. */
const median = (samples: readonly number[]): number =>
  samples.toSorted((a, b) => a - b)[Math.ceil(samples.length / 2) - 1] ?? Number.NaN;

const shapes: Readonly<Record<string, (chance: Chance) => number>> = {
  even: (chance) => 1 + 500 * chance.next(),
  'heavy-tailed': (chance) => Math.min(0.5 / chance.next() ** 2, 1_000_000),
  'two humps': (chance) => (chance.is(0.5) ? 20 : 2000) * (1 + chance.next() / 10),
  'one value': () => 81.5,
  'over the whole scale': (chance) => 0.1 * 10 ** (7 * chance.next()),
};

describe('a median', () => {
  it.each(Object.entries(shapes))('is within the stated error of the exact one: %s', (_, shape) => {
    expect(relativeError).toBeLessThanOrEqual(0.05);
    for (let seed = 1; seed <= 50; seed += 1) {
      const chance = chanceFrom(seed);
      const samples = Array.from({ length: 1 + chance.below(400) }, () => shape(chance));
      const exact = median(samples);
      const off = Math.abs(medianOf([histogramOf(samples)]) - exact) / exact;
      expect(off, `seed ${seed}, exactly ${exact}`).toBeLessThanOrEqual(relativeError + 1e-9);
    }
  });

  it('of nothing is 0', () => {
    expect([medianOf([]), medianOf([emptyHistogram()])]).toEqual([0, 0]);
  });

  it('stays on the scale whatever was measured', () => {
    expect(medianOf([histogramOf([0, 0, 0.000_1])])).toBeCloseTo(0.104, 3);
    const far = medianOf([histogramOf([1e300, 5e6, 2e6])]);
    expect(far).toBeGreaterThan(900_000);
    expect(far).toBeLessThan(1_100_000);
  });
});

test('histograms say together what one of all samples says, whoever took which', () => {
  const chance = chanceFrom(7);
  const all = emptyHistogram();
  const replicas = [emptyHistogram(), emptyHistogram(), emptyHistogram()] as const;
  for (let at = 0; at < 3000; at += 1) {
    const sample = 0.05 / chance.next();
    addSample(all, sample, at);
    addSample(chance.pick(replicas), sample, at);
    expect(medianOf(replicas)).toBe(medianOf([all]));
  }
  expect([totalOf(replicas), newestAt(replicas)]).toEqual([3000, 2999]);
});
