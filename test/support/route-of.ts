import type { Model, Route, Snapshot } from '../../src/core/catalog.ts';

/** A route that says nothing but who it is. */
export function routeOf(backend: string, fields: Partial<Route> = {}): Route {
  const cluster = {
    name: `cluster-${backend}`,
    backend,
    host: `${backend}.svc`,
    port: 8000,
    tls: { mode: 'Off' },
  } as const;
  return {
    id: `tiny@${backend}`,
    backend: { name: backend, engine: 'vllm', cluster, authority: `${backend}.svc:8000`, path: '/v1' },
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
    hedging: 'Off',
    routes,
    ...fields,
  };
}

export function snapshotOf(models: readonly Model[], version = 'one'): Snapshot {
  const clusters = models.flatMap(({ routes }) => routes.map(({ backend }) => backend.cluster));
  return { version, models: new Map(models.map((model) => [model.id, model])), clusters };
}
