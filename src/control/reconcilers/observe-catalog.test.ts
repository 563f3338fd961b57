// @suite apart
import { performance } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { countTurns } from '../../../test/support/count-turns.ts';
import { routeOf } from '../../../test/support/route-of.ts';
import type { Model } from '../../core/catalog.ts';
import type { RouteRecord } from '../../gateway/routing/health/route-record.ts';
import { failingBackend, observeCatalog } from './observe-catalog.ts';
import type { Probe } from './probe-backends.ts';

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
      slow: () => [],
      troubleOf: () => undefined,
      answerOf: () => undefined,
      record: () => ({ answeredAt: undefined, failing: undefined, refusal: undefined, triedAt: undefined }),
      probeOf: () => undefined,
      vectorsFaults: () => new Map(),
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

const fault = { kind: 'status', status: 500, detail: '' } as const;
const answered = (at: number): RouteRecord => ({ answeredAt: at, failing: undefined, refusal: undefined, triedAt: at });
const failing = (since: number, at: number, failures: number): RouteRecord => ({
  ...{ answeredAt: undefined, refusal: undefined, triedAt: at },
  failing: { since, at, failures, fault },
});
const full = (at: number): RouteRecord => ({
  ...{ answeredAt: undefined, failing: undefined, triedAt: at },
  refusal: { kind: 'status', status: 429, cause: 'no-quota', detail: '' },
});
const refused = (at: number, since = at): Probe => ({
  at,
  since,
  answer: { kind: 'fails', cause: 'connection-refused' },
});
const lists = (at: number): Probe => ({ at, since: at, answer: { kind: 'lists' } });

it.each<readonly [string, readonly RouteRecord[], Probe | undefined, string | undefined]>([
  ['nothing was tried', [], undefined, undefined],
  ['the probe fails', [], refused(5), 'connection-refused probe'],
  ['a request was answered after the probe', [answered(6)], refused(5), undefined],
  ['a request was answered although the probe fails', [answered(6)], refused(9, 5), undefined],
  ['a request was answered before the probe', [answered(4)], refused(5), 'connection-refused probe'],
  ['one request failed', [failing(1, 1, 1)], lists(0), 'server-error requests'],
  // The newest that is known of it.
  ['one request failed, and the probe after it', [failing(1, 1, 1)], refused(5), 'connection-refused probe'],
  ['the probe fails, and requests after it', [failing(1, 6, 10)], refused(5), 'server-error probe'],
  ['ten failed in a row', [failing(1, 10, 10)], lists(0), 'server-error many-requests'],
  ['ten failed in a row, long ago', [failing(1, 10, 10)], lists(3_600_000), 'server-error many-requests'],
  ['ten failed, while another route answered', [failing(1, 10, 10), answered(5)], lists(0), 'server-error requests'],
  ['one request found no room', [full(1)], lists(0), 'no-quota requests'],
  ['one request found no room, and the probe fails', [full(1)], refused(5), 'connection-refused probe'],
  ['one request found no room, another one failed', [full(2), failing(1, 1, 1)], lists(0), 'server-error requests'],
  [
    'ten failed after another route answered',
    [failing(6, 10, 10), answered(5)],
    lists(0),
    'server-error many-requests',
  ],
])('%s', (_, records, probe, expected) => {
  const found = failingBackend(records, probe);
  expect(found && `${found.cause} ${found.evidence}`).toBe(expected);
});
