// @suite apart
import { performance } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { countTurns } from '../../../test/support/count-turns.ts';
import { routeOf } from '../../../test/support/route-of.ts';
import type { Model } from '../../core/catalog.ts';
import { observeCatalog } from './observe-catalog.ts';

/** Keeps the event loop busy, as the health of a route with many endpoints does. */
function compute(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('gives others a turn every few milliseconds, however many backends there are', async () => {
  const routes = Array.from({ length: 500 }, (_, index) => routeOf(`b${index}`, { id: `m${index}@b${index}` }));
  const models = new Map(routes.map((route, index) => [`m${index}`, { id: `m${index}`, routes: [route] }]));
  const clusters = routes.map(({ backend }) => backend.cluster);
  const counts = { total: 2, healthy: 2, failing: [] };
  const { turns, stop } = countTurns();
  const observed = await observeCatalog(
    {
      name: 'replica',
      isServing: ({ id }) => (compute(0.05), id !== 'm1@b1'),
      isListed: ({ id }) => (compute(0.05), id !== 'm2'),
      ejected: ({ id }) => (compute(0.05), id === 'm3@b3' ? ['10.0.0.1:80'] : []),
      troubleOf: () => undefined,
      answerOf: () => undefined,
      record: () => ({ answeredAt: undefined, failing: undefined }),
      probeOf: () => undefined,
      refused: () => new Map(),
      snapshot: () => ({
        ...{ aliases: new Map(), clusters, version: 'v' },
        models: models as unknown as ReadonlyMap<string, Model>,
      }),
    },
    {
      active: new Set(clusters.map(({ name }) => name)),
      endpoints: new Map(clusters.map(({ backend }) => [backend, counts])),
    },
  );
  stop();
  // 75 milliseconds of work in slices of two.
  expect(turns()).toBeGreaterThan(30);
  expect([[...observed.out], [...observed.unlisted], observed.backends.size]).toEqual([['m1@b1'], ['m2'], 500]);
  expect(observed.backends.get('b3')?.endpoints).toMatchObject({ healthy: 1, ejected: 1, unhealthy: 0 });
});
