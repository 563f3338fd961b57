import { describe, expect, it } from 'vitest';
import { costsOf } from './part-costs.ts';
import { type Costs, type Farm, type Forecast, parts, simulate } from './scale-simulation.ts';

const each = (request: number) => ({ turn: 0, request });
/** Turns cost nothing: a request costs the same however many share a turn. */
const alike: Costs = {
  ...{ bench: each(0.2), envoy: each(0.3), service: each(0.5), threads: each(0.1) },
  ...{ postgres: each(0.3), valkey: each(0.1) },
};
/** Turns of services and commits cost something, too. */
const shared: Costs = {
  ...alike,
  ...{ service: { turn: 0.1, request: 0.2 }, threads: { turn: 0.3, request: 0.05 } },
  postgres: { turn: 0.6, request: 0.02 },
};
const farm: Farm = { costs: alike, services: 1, callers: 64, cores: undefined, envoyThreads: 1, seconds: 2 };
const run = (change: Partial<Farm>): Forecast => simulate({ ...farm, ...change });
const rate = (change: Partial<Farm>): number => run(change).requestsPerSecond;
const costOf = ({ cost }: Forecast): number => parts.reduce((sum, part) => sum + cost[part], 0);
const expectNear = (actual: number, expected: number, within = 0.01): void => {
  expect(actual).toBeGreaterThanOrEqual(expected * (1 - within));
  expect(actual).toBeLessThanOrEqual(expected * (1 + within));
};

describe('where turns cost nothing', () => {
  it('serves a single caller as fast as its request takes, and its row is not held back', () => {
    expectNear(rate({ costs: { ...alike, bench: each(1.2) }, callers: 1 }), 1_000 / 2.5);
  });

  it('serves as many as its busiest part, where each has cores of its own', () => {
    expectNear(rate({}), 1_000 / 0.5);
    expectNear(rate({ services: 2 }), 1_000 / 0.3, 0.03);
    expectNear(rate({ services: 100, callers: 2_000, envoyThreads: 100, seconds: 0.5 }), 1_000 / 0.1, 0.03);
    expect(run({}).busy.service).toBeGreaterThan(0.99);
  });

  it('serves as many as the cores allow, where all share them, whatever the number of services', () => {
    for (const services of [1, 2, 3]) expectNear(rate({ services, cores: 2 }), 2_000 / 1.5);
    expectNear(rate({ cores: 1.5 }), 1_500 / 1.5);
  });

  it('spreads requests over the services evenly', () => {
    const { busy, requestsPerSecond } = run({ services: 4, callers: 400, seconds: 2 });
    expectNear(busy.service, (requestsPerSecond * 0.0005) / 4);
  });
});

describe('where turns cost something', () => {
  it('makes a request cheaper, the more callers share a turn', () => {
    const costs = [1, 8, 64].map((callers) => costOf(run({ costs: shared, callers, cores: 2 })));
    expect(costs[0]).toBeGreaterThan((costs[1] ?? 0) * 1.2);
    expect(costs[1]).toBeGreaterThan((costs[2] ?? 0) * 1.1);
  });

  it('makes a request dearer, the more services the same callers are spread over', () => {
    const costs = [1, 2, 3].map((services) => costOf(run({ costs: shared, services, cores: 2 })));
    expect(costs[1]).toBeGreaterThan((costs[0] ?? 0) * 1.02);
    expect(costs[2]).toBeGreaterThan((costs[1] ?? 0) * 1.02);
  });

  it('commits no more often than every two milliseconds', () => {
    const { turns, requestsPerSecond } = run({ costs: shared, cores: 4 });
    expect(turns.postgres * requestsPerSecond).toBeLessThanOrEqual(501);
  });
});

describe('costs of turns and requests', () => {
  const samplesOf = (costs: Costs, loads: readonly number[]) =>
    loads.map((callers) => ({ callers, cores: 2, cost: run({ costs, callers, cores: 2, seconds: 2 }).cost }));

  it('are found from the loads of one service, and tell what several cost', () => {
    const found = costsOf(samplesOf(shared, [8, 16, 32, 64]), 1);
    for (const services of [1, 2, 3]) {
      const [forecast, truth] = [run({ costs: found, services, cores: 2 }), run({ costs: shared, services, cores: 2 })];
      expectNear(costOf(forecast), costOf(truth), 0.03);
    }
  });

  it('are those of a request alone, where the load makes no difference', () => {
    const found = costsOf(samplesOf(alike, [8, 64]), 1);
    for (const part of parts) expectNear(found[part].request, alike[part].request, 0.05);
  });
});
