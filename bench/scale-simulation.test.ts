import { expect, it } from 'vitest';
import { type Demand, type Farm, simulate } from './scale-simulation.ts';

const demand: Demand = { bench: 0.2, envoy: 0.3, serviceLoop: 0.5, serviceThreads: 0.1, postgres: 0.3, valkey: 0.1 };
const farm: Farm = { demand, services: 1, callers: 64, cores: undefined, envoyThreads: 1, seconds: 5 };
const rate = (change: Partial<Farm>): number => simulate({ ...farm, ...change }).requestsPerSecond;
/** Within a hundredth: the first requests of a run find nothing at work. */
const near = (expected: number) => [expected * 0.99, expected * 1.01] as const;
const expectNear = (actual: number, expected: number): void => {
  const [least, most] = near(expected);
  expect(actual).toBeGreaterThanOrEqual(least);
  expect(actual).toBeLessThanOrEqual(most);
};

it('serves a single caller as fast as its request takes', () => {
  expectNear(rate({ callers: 1 }), 1_000 / 1.5);
});

it('serves as many as its busiest part, where each has cores of its own', () => {
  expectNear(rate({}), 1_000 / 0.5);
  expectNear(rate({ services: 2 }), 1_000 / 0.3);
  expectNear(rate({ services: 2, envoyThreads: 2 }), 2_000 / 0.5);
  expectNear(rate({ services: 100, callers: 2_000, envoyThreads: 100 }), 1_000 / 0.1);
  expect(simulate(farm).busy.service).toBeGreaterThan(0.99);
});

it('serves as many as the cores allow, where all share them, whatever the number of services', () => {
  for (const services of [1, 2, 3]) expectNear(rate({ services, cores: 2 }), 2_000 / 1.5);
  expectNear(rate({ cores: 1.5 }), 1_500 / 1.5);
});

it('spreads requests over the services evenly', () => {
  const { busy } = simulate({ ...farm, services: 4, callers: 400 });
  expectNear(busy.service, ((1_000 / 0.3) * 0.0005) / 4);
});
