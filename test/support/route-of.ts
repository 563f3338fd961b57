import type { RequestTarget } from '../../src/core/capability.ts';
import type { Model, Route, Snapshot } from '../../src/core/catalog.ts';
import type { Plan, PlannedRoute } from '../../src/core/plan.ts';

/** A route that says nothing but who it is. */
export function routeOf(backend: string, fields: Partial<Route> = {}): Route {
  const cluster = {
    name: `cluster-${backend}`,
    backend,
    endpoints: { kind: 'hosts', hosts: [{ host: `${backend}.svc`, port: 8000 }] },
    tls: { mode: 'Disabled' },
  } as const;
  return {
    id: `tiny@${backend}`,
    backend: { name: backend, engine: 'vllm', cluster, path: '/v1' },
    upstreamModel: 'Tiny/Upstream-1B',
    weight: 100,
    capabilities: {},
    ...fields,
  };
}

export const tinyPrices = { prompt: 150_000n, completion: 600_000n, inputCacheRead: 30_000n };

export function modelOf(routes: readonly Route[], fields: Partial<Model> = {}): Model {
  return {
    id: 'demo/tiny',
    ownedBy: 'demo',
    added: 1_780_000_000,
    contextLength: 8192,
    inputModalities: ['text'],
    prices: tinyPrices,
    reasoning: { mode: 'None', efforts: [] },
    hedging: 'Disabled',
    routes,
    ...fields,
  };
}

export function snapshotOf(models: readonly Model[], version = 'one'): Snapshot {
  const clusters = models.flatMap(({ routes }) => routes.map(({ backend }) => backend.cluster));
  return { version, models: new Map(models.map((model) => [model.id, model])), clusters };
}

/** A request's target on a route, with nothing asked for. */
export function targetOf(backend: string, fields: Partial<RequestTarget> = {}): RequestTarget {
  return { engine: 'vllm', upstreamModel: routeOf(backend).upstreamModel, parameters: [], ...fields };
}

/** A route as it stands in a plan. */
export function plannedOf(backend: string, fields: Partial<Route> = {}): PlannedRoute {
  return { route: routeOf(backend, fields), target: targetOf(backend) };
}

/** The routes of a plan, in order. Throws when there is none: a plan has one at least. */
export function plannedOfAll(backends: readonly string[]): Plan['routes'] {
  const [first, ...rest] = backends.map((name) => plannedOf(name));
  if (first === undefined) throw new Error('a plan has a route');
  return [first, ...rest];
}
