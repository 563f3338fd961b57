import { describe, expect, it } from 'vitest';
import { createHedgeBudget } from './hedge.ts';

/** How many of these requests get a hedge when each one asks for it. */
function hedgesOf(requests: number): number {
  const budget = createHedgeBudget();
  let hedges = 0;
  for (let request = 0; request < requests; request += 1) {
    budget.earn();
    if (budget.spend()) hedges += 1;
  }
  return hedges;
}

describe('the hedging budget', () => {
  it('allows one extra attempt for ten requests in the long run, besides the first few', () => {
    expect(hedgesOf(10_000)).toBeLessThanOrEqual(1010);
    expect(hedgesOf(10_000)).toBeGreaterThan(1000);
  });

  it('lets a sudden stall of one route be answered at once', () => {
    expect(hedgesOf(10)).toBe(10);
  });

  it('does not save up more than that', () => {
    const budget = createHedgeBudget();
    for (let request = 0; request < 10_000; request += 1) budget.earn();
    const spent = Array.from({ length: 20 }, () => budget.spend()).filter(Boolean);
    expect(spent).toHaveLength(10);
  });
});
