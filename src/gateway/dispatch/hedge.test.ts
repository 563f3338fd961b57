import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { endpointOf, plannedOf } from '../../../test/support/route-of.ts';
import { createHedgeBudget, createHedgeWatch } from './hedge.ts';

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

/** A watch over an attempt whose first output is late after 200 ms. */
function watchAttempt() {
  const clock = createFakeClock();
  const health = { isOut: () => false, hedge: () => ({ afterMs: 200, insured: true }) };
  const { watch, stop } = createHedgeWatch({ clock, health, hedges: createHedgeBudget(), stream: true });
  const startedAt: number[] = [];
  const { route } = plannedOf('a');
  const others = [{ route, avoid: new Set<string>() }];
  const start = (): void => void startedAt.push(clock.elapsed());
  watch({ route, endpoint: endpointOf('a') }, { others, isRoom: () => true, start });
  return { clock, stop, startedAt };
}

describe('a hedge', () => {
  it('is started when the first output is late', () => {
    const { clock, startedAt } = watchAttempt();
    clock.advance(10_000);
    expect({ startedAt, armed: clock.armed() }).toEqual({ startedAt: [200], armed: 0 });
  });

  it('is not started when the output arrived while this process was held up', async () => {
    const { clock, stop, startedAt } = watchAttempt();
    await clock.holdUp(900, stop);
    clock.advance(10_000);
    expect({ startedAt, armed: clock.armed() }).toEqual({ startedAt: [], armed: 0 });
  });
});
