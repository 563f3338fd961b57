import { expect, it } from 'vitest';
import { createNeededServices, type ServiceUse, withSpares } from './needed-services.ts';

const use = (ran: number, wanted: number, filled = 0): ServiceUse => ({ ran, wanted, filled });
const idle = use(0.01, 0.01);
const times = (count: number, one: ServiceUse): readonly ServiceUse[] => Array.from({ length: count }, () => one);

/** What is said after each of several looks that show the same. */
function looks(needed: (uses: readonly ServiceUse[]) => number, count: number, uses: readonly ServiceUse[]): number[] {
  return Array.from({ length: count }, () => needed(uses));
}

it('gives requests to all services as long as there are cores for them', () => {
  const needed = createNeededServices(3);
  for (const uses of [times(3, idle), times(3, use(0.3, 0.32)), times(3, use(1, 1)), []]) {
    expect(looks(needed, 10, uses)).toEqual(Array(10).fill(3));
  }
});

it('gives them to as few as can do the work when loops have waited for cores at five looks in a row', () => {
  expect(looks(createNeededServices(3), 6, times(3, use(0.16, 0.5)))).toEqual([3, 3, 3, 3, 1, 1]);
  expect(looks(createNeededServices(8), 5, times(8, use(0.4, 0.9)))).toEqual([8, 8, 8, 8, 5]);
  const needed = createNeededServices(3);
  looks(needed, 4, times(3, use(0.16, 0.5)));
  expect([times(3, use(0.16, 0.2)), times(3, use(0.16, 0.5))].map(needed)).toEqual([3, 3]);
});

it('takes no notice of services that wait for cores and have next to nothing to do', () => {
  expect(looks(createNeededServices(3), 5, times(3, use(0.05, 0.5)))).toEqual([3, 3, 3, 3, 3]);
});

it('adds one at a time once cores are no longer short', () => {
  const needed = createNeededServices(3);
  looks(needed, 5, times(3, use(0.16, 0.5)));
  expect(looks(needed, 5, [use(0.48, 0.9), idle, idle])).toEqual([1, 1, 1, 1, 1]);
  expect(looks(needed, 10, [use(0.4, 0.42), idle, idle])).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 2, 3]);
});

it('adds one at once when a loop is full and waits for nothing but itself', () => {
  const needed = createNeededServices(4);
  looks(needed, 5, times(4, use(0.16, 0.5)));
  expect(looks(needed, 2, [use(0.97, 1), idle, idle, idle])).toEqual([2, 2]);
});

it('keeps as many as can hold what is open, however short cores are', () => {
  const needed = createNeededServices(3);
  expect(looks(needed, 6, times(3, use(0.16, 0.5, 0.3)))).toEqual([3, 3, 3, 3, 2, 2]);
  expect(needed([use(0.3, 0.6, 0.7), use(0.3, 0.6, 0.4), idle])).toBe(3);
});

it('publishes the first services that serve to Envoy, and no spare one while too few serve', () => {
  expect(withSpares(['serving', 'serving', 'serving'], 1)).toEqual(['serving', 'spare', 'spare']);
  expect(withSpares(['away', 'serving', 'serving'], 1)).toEqual(['away', 'serving', 'spare']);
  expect(withSpares(['strained', 'away', 'serving'], 2)).toEqual(['strained', 'away', 'serving']);
  expect(withSpares(['serving', 'serving'], 2)).toEqual(['serving', 'serving']);
});
