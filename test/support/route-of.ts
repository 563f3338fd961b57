import type { RequestTarget } from '../../src/core/capability.ts';
import type { Model, Route, Snapshot } from '../../src/core/catalog.ts';
import type { Endpoint, Endpoints } from '../../src/core/endpoint.ts';
import type { Plan, PlannedRoute } from '../../src/gateway/core/plan.ts';

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

/** Endpoint number `number` of a backend of `routeOf`. */
export function endpointOf(backend: string, number = 1): Endpoint {
  const address = `10.0.0.${number}`;
  return { name: `${address}:8000`, address, port: 8000, authority: `${backend}.svc:8000`, zone: undefined };
}

/** One endpoint for every cluster, or as many as `counts` says by the name of its backend. */
export function endpointsOf(counts: Readonly<Record<string, number>> = {}): Endpoints {
  const known = new Map<string, readonly Endpoint[]>();
  return {
    of: (cluster) => {
      const backend = cluster.replace(/^cluster-/, '');
      const length = counts[backend] ?? 1;
      const before = known.get(cluster);
      if (before?.length === length) return before;
      const endpoints = Array.from({ length }, (_, index) => endpointOf(backend, index + 1));
      known.set(cluster, endpoints);
      return endpoints;
    },
  };
}

export const tinyPrices = { prompt: 150_000n, completion: 600_000n, inputCacheRead: 30_000n };

export function modelOf(routes: readonly Route[], fields: Partial<Model> = {}): Model {
  return {
    id: 'demo/tiny',
    aliases: [],
    ownedBy: 'demo',
    added: 1_780_000_000,
    contextLength: 8192,
    inputModalities: ['text'],
    prices: tinyPrices,
    reasoning: { mode: 'None', efforts: [] },
    hedging: 'Disabled',
    cacheSharing: 'Workspace',
    routes,
    ...fields,
  };
}

export function snapshotOf(models: readonly Model[], version = 'one'): Snapshot {
  const clusters = models.flatMap(({ routes }) => routes.map(({ backend }) => backend.cluster));
  const aliases = new Map(models.flatMap(({ id, aliases: names }) => names.map((alias) => [alias, id])));
  return { version, models: new Map(models.map((model) => [model.id, model])), aliases, clusters };
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
