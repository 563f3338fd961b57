import { describe, expect, it } from 'vitest';
import { createLatencyHistogram } from './pace.ts';

describe('a latency histogram', () => {
  it.each([
    [0.5, 500],
    [0.95, 950],
    [1, 1000],
  ])('knows the quantile %d to within a tenth', (share, expected) => {
    const histogram = createLatencyHistogram({ halfLifeMs: 60_000 });
    for (let ms = 1; ms <= 1000; ms += 1) histogram.add(0, ms);
    const quantile = histogram.quantile(share) ?? 0;
    expect(Math.abs(quantile / expected - 1)).toBeLessThan(0.1);
  });

  it('believes the new', () => {
    const histogram = createLatencyHistogram({ halfLifeMs: 1000 });
    for (let time = 0; time < 100; time += 1) histogram.add(0, 10);
    for (let time = 0; time < 10; time += 1) histogram.add(10_000, 1000);
    expect(histogram.weight(10_000)).toBeCloseTo(10.1, 1);
    expect(histogram.quantile(0.5)).toBeGreaterThan(900);
  });

  it.each([1e3, 1e6, 1e9])('goes on after %d half-lives', (halfLives) => {
    const histogram = createLatencyHistogram({ halfLifeMs: 1 });
    histogram.add(0, 10);
    histogram.add(halfLives, 100);
    expect(histogram.weight(halfLives)).toBeCloseTo(1);
    expect(histogram.quantile(0.5)).toBeGreaterThan(90);
  });

  it('takes durations beyond its ends, and says nothing without any', () => {
    const histogram = createLatencyHistogram({ halfLifeMs: 1000 });
    expect([histogram.quantile(0.95), histogram.weight(0)]).toEqual([undefined, 0]);
    histogram.add(0, 0);
    histogram.add(0, 1e12);
    expect(histogram.quantile(0.25)).toBeLessThan(2);
    expect(histogram.quantile(1)).toBeGreaterThan(1e6);
  });
});
