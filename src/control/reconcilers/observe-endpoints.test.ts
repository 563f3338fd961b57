import { expect, it } from 'vitest';
import { routeOf } from '../../../test/support/route-of.ts';
import type { Model, Route } from '../../core/catalog.ts';
import type { EnvoyEndpoints } from '../envoy/runtime/cluster-publisher.ts';
import { observeEndpoints } from './observe-endpoints.ts';

const [one, two] = [routeOf('a', { id: 'one@a' }), routeOf('a', { id: 'two@a' })];
const sick = { endpoint: '10.0.0.1:8000', why: 'health-check' } as const;

async function observe(
  counts: EnvoyEndpoints,
  ejected: Readonly<Record<string, readonly string[]>> = {},
  { routes = [one, two], slow = [] }: { readonly routes?: readonly Route[]; readonly slow?: readonly string[] } = {},
) {
  const models = new Map(routes.map((route) => [route.id, { routes: [route] } as unknown as Model]));
  const snapshot = { models, clusters: [one.backend.cluster] };
  const envoy = { active: new Set([one.backend.cluster.name]), endpoints: new Map([['a', counts]]) };
  const observed = await observeEndpoints(snapshot, envoy, {
    ejected: ({ id }: Route) => ejected[id] ?? [],
    slow: () => slow,
    troubleOf: () => 'spec.service: no pod is ready',
    answerOf: (backend, endpoint) => (endpoint === sick.endpoint ? { status: 503 } : undefined),
  });
  return observed.get('a');
}

it('counts those that are well, and names the others: those of Envoy, then those to which requests failed', async () => {
  expect(await observe({ total: 8, healthy: 7, failing: [sick] }, { 'one@a': ['10.0.0.5:8000'] })).toEqual({
    ...{ total: 8, healthy: 6, ejected: 1, unhealthy: 1, trouble: undefined },
    failing: [
      { ...sick, answer: { status: 503 } },
      { endpoint: '10.0.0.5:8000', why: 'requests' },
    ],
  });
});

it('says of an ejected endpoint that it is slow, where others answered first', async () => {
  const names = ['10.0.0.5:8000', '10.0.0.6:8000'];
  const well = { total: 8, healthy: 8, failing: [] };
  expect((await observe(well, { 'two@a': names }, { slow: names.slice(1) }))?.failing).toEqual([
    { endpoint: '10.0.0.5:8000', why: 'requests' },
    { endpoint: '10.0.0.6:8000', why: 'slow' },
  ]);
});

it('counts an endpoint once that fails in both ways', async () => {
  expect(await observe({ total: 8, healthy: 7, failing: [sick] }, { 'one@a': [sick.endpoint] })).toMatchObject({
    ...{ healthy: 7, ejected: 0 },
    failing: [{ ...sick, answer: { status: 503 } }],
  });
  // Envoy leaves out nineteen, of which it names one: the endpoint may be another of them.
  expect(await observe({ total: 20, healthy: 1, failing: [sick] }, { 'one@a': ['10.0.0.5:8000'] })).toMatchObject({
    ...{ healthy: 1, ejected: 0, unhealthy: 19 },
  });
});

it('takes a route that leaves out all endpoints for a fault of its model, unless every route does', async () => {
  const all = ['10.0.0.1:8000', '10.0.0.2:8000'];
  const well = { total: 2, healthy: 2, failing: [] };
  expect(await observe(well, { 'one@a': all })).toMatchObject({ healthy: 2, failing: [] });
  expect(await observe(well, { 'one@a': all, 'two@a': ['10.0.0.2:8000'] })).toMatchObject({ healthy: 1 });
  expect(await observe(well, { 'one@a': all, 'two@a': all })).toMatchObject({ healthy: 0, ejected: 2 });
  expect(await observe(well, { 'one@a': all }, { routes: [one] })).toMatchObject({ healthy: 0 });
});

it('says why there is none', async () => {
  expect((await observe({ total: 0, healthy: 0, failing: [] }))?.trouble).toBe('spec.service: no pod is ready');
});

it('knows nothing of a Backend that Envoy does not have', async () => {
  const asked = { ejected: () => [], slow: () => [], troubleOf: () => undefined, answerOf: () => undefined };
  const snapshot = { models: new Map<string, Model>(), clusters: [one.backend.cluster] };
  const counts = { total: 1, healthy: 1, failing: [] };
  expect([
    ...(await observeEndpoints(snapshot, { active: new Set(), endpoints: new Map([['a', counts]]) }, asked)),
  ]).toEqual([]);
  expect([...(await observeEndpoints(snapshot, undefined, asked))]).toEqual([]);
});
