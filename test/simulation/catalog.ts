import type { Snapshot } from '../../src/core/catalog.ts';
import type { Endpoint, Endpoints } from '../../src/core/endpoint.ts';
import { modelOf, routeOf, snapshotOf, tinyPrices } from '../support/route-of.ts';

/** The endpoints of the two backends. */
export const enginesOf = [
  { name: 'a1', backend: 'a', endpoint: '10.0.0.1:8000' },
  { name: 'a2', backend: 'a', endpoint: '10.0.0.2:8000' },
  { name: 'b1', backend: 'b', endpoint: '10.0.1.1:8000' },
] as const;

/** How fast engines answer. */
export const pace = { headersDelayMs: 2, firstTokenDelayMs: 20, tokenDelayMs: 4 } as const;
export const prices = tinyPrices;
/** Of a search of the web: about that of a short answer. */
export const searchPrice = 7_000_001n;

/** A catalog of two models on these backends. `factor`: of the prices. */
export function snapshotWith(backends: readonly ('a' | 'b')[], factor: number, version: string): Snapshot {
  const scaled = {
    prompt: prices.prompt * BigInt(factor),
    completion: prices.completion * BigInt(factor),
    inputCacheRead: prices.inputCacheRead * BigInt(factor),
  };
  const routes = (model: string) =>
    backends.map((backend) => ({
      ...routeOf(backend, { id: `${model}@${backend}` }),
      backend: { ...routeOf(backend).backend, engine: backend === 'a' ? ('vllm' as const) : ('sglang' as const) },
    }));
  return snapshotOf(
    [
      modelOf(routes('tiny'), { prices: scaled }),
      modelOf(routes('thinker'), {
        ...{ id: 'demo/thinker', prices: scaled, hedging: 'Auto' },
        reasoning: { mode: 'Always', efforts: [] },
      }),
    ],
    version,
  );
}

export const endpoints: Endpoints = (() => {
  const byCluster = new Map<string, readonly Endpoint[]>();
  for (const backend of ['a', 'b']) {
    const found = enginesOf
      .filter((engine) => engine.backend === backend)
      .map(({ endpoint }) => {
        const [address = '', port] = endpoint.split(':');
        return { name: endpoint, address, port: Number(port), authority: `${backend}.svc:8000`, zone: undefined };
      });
    byCluster.set(`cluster-${backend}`, found);
  }
  return { of: (cluster) => byCluster.get(cluster) ?? [] };
})();
