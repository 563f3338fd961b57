import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../../../support/chance.ts';
import { type Bound, growthOf, type Reading, type Verdict, verdictOf } from './growth.ts';

const bound: Bound = { share: 0.05, resolution: 1 };

/** One reading a minute; the value at a share of the whole time, and its stratum. */
function readings(count: number, value: (share: number, index: number) => number, strata = 1): readonly Reading[] {
  return Array.from({ length: count }, (_, index) => ({
    at: index + 0.5,
    value: value(index / (count - 1), index),
    stratum: index % strata,
  }));
}

function verdict(all: readonly Reading[]): Verdict {
  const growth = growthOf(all);
  if (growth === undefined) throw new Error('too few');
  return verdictOf(growth, bound);
}

/** Between −1 and 1, the same each time. */
function noise(seed: number): () => number {
  const chance = chanceFrom(seed);
  return () => 2 * chance.next() - 1;
}

describe('growth', () => {
  it.each<readonly [string, Verdict, readonly Reading[]]>([
    ['what never changes', 'steady', readings(20, () => 100)],
    ['what is nothing all the time', 'steady', readings(20, () => 0)],
    ['what shrinks', 'steady', readings(20, (share) => 100 - 30 * share)],
    ['a growth below the bound', 'steady', readings(20, (share) => 100 + 4 * share)],
    ['a growth above it', 'grew', readings(20, (share) => 100 + 10 * share)],
    ['a leap in the middle', 'grew', readings(20, (share) => (share < 0.5 ? 100 : 110))],
    ['a growth below what can be told apart', 'steady', readings(20, (share) => 4 + share)],
    ['two readings that are far off', 'steady', readings(20, (_, index) => (index === 0 || index === 19 ? 300 : 100))],
  ])('of %s is %s', (_, expected, all) => {
    expect(verdict(all)).toBe(expected);
  });

  it('is found in noise that is as large as it is, and not found in noise alone', () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
      const around = noise(seed);
      expect(verdict(readings(30, (share) => 100 + 20 * share + 10 * around()))).toBe('grew');
      expect(verdict(readings(30, () => 100 + 10 * around()))).not.toBe('grew');
    }
  });

  it('says that the fifths differ and that there is no trend', () => {
    const values = [100, 100, 100, 140, 90, 140, 90, 140, 90, 140, 90, 110, 110, 100, 110];
    expect(verdict(readings(values.length, (_, index) => values[index] ?? 0))).toBe('unclear');
  });

  it('compares processes that are replaced by their age', () => {
    // Each grows by a third while it lives, and each is what the one before it was.
    const replaced = readings(21, (_, index) => 100 + 30 * (index % 3), 3);
    expect(verdict(replaced)).toBe('steady');
    expect(growthOf(replaced)).toMatchObject({ change: 0, trend: { low: 0, middle: 0, high: 0 } });
    // Each begins with a little more than the one before.
    expect(verdict(readings(21, (share, index) => 100 + 30 * (index % 3) + 20 * share, 3))).toBe('grew');
  });

  it('says nothing of too few readings', () => {
    expect(growthOf([])).toBeUndefined();
    expect(growthOf(readings(4, () => 100))).toBeUndefined();
    expect(growthOf(readings(20, () => 100, 20))).toBeUndefined();
  });

  it('has a trend that holds the true one', () => {
    const around = noise(3);
    const { trend } = growthOf(readings(40, (share) => 95 + 10 * share + 3 * around())) ?? {};
    expect(trend?.low).toBeLessThan(0.1);
    expect(trend?.high).toBeGreaterThan(0.1);
    expect(trend?.low).toBeGreaterThan(0.05);
    expect(trend?.high).toBeLessThan(0.15);
  });
});
