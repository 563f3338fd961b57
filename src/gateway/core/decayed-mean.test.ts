import { describe, expect, it } from 'vitest';
import { createDecayedMean } from './decayed-mean.ts';

describe('a decayed mean', () => {
  it('is the mean of what was added', () => {
    const mean = createDecayedMean({ halfLifeMs: 1000, maxWeight: 10 });
    expect(mean.mean(0)).toBeNaN();
    mean.add(0, 1);
    mean.add(0, 4, { weight: 2 });
    expect([mean.mean(0), mean.weight(0)]).toEqual([3, 3]);
    expect(mean.mean(0, { value: 5, weight: 1 })).toBe(3.5);
  });

  it('forgets by time: a value counts for half after a half-life', () => {
    const mean = createDecayedMean({ halfLifeMs: 1000, maxWeight: 10 });
    mean.add(0, 0);
    mean.add(1000, 3);
    expect([mean.weight(1000), mean.mean(1000)]).toEqual([1.5, 2]);
  });

  it('forgets by count: it never stands on more than so many values', () => {
    const mean = createDecayedMean({ halfLifeMs: 1000, maxWeight: 4 });
    for (let time = 0; time < 100; time += 1) mean.add(0, 0);
    mean.add(0, 1);
    expect([mean.weight(0), mean.mean(0)]).toEqual([4, 0.25]);
  });
});
