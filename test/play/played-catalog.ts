import { formatUsd } from '../../src/core/money.ts';
import { manifestOf } from '../envoy/support/catalog-manifest.ts';
import { endpointPlaces, enginesOf, prices } from '../simulation/catalog.ts';
import type { MadeCatalog } from '../simulation/check-catalog.ts';
import { backend, model } from '../support/catalog-objects.ts';
import type { PlayedEngine } from './played-engine.ts';

/** What engines call both models. */
export const upstreamModel = 'demo-chat';

const engineKinds = { a: 'vllm', b: 'sglang' } as const;
// No answer may have this in it (`close` of a gateway).
const nameOf = (backendName: string): string => `backend-of-test-${backendName}`;

/** The simulation's catalog as manifests: two models on these backends. */
export function playedManifests(
  engines: readonly Pick<PlayedEngine, 'name' | 'port'>[],
  backends: readonly ('a' | 'b')[],
  { factor, window }: Pick<MadeCatalog, 'factor' | 'window'>,
): string {
  const portOf = (name: string): number | undefined => engines.find((engine) => engine.name === name)?.port;
  const usd = (picoUsd: bigint): string => formatUsd(picoUsd * BigInt(factor));
  const spec = {
    ...{ ownedBy: 'demo', contextLength: window },
    pricing: {
      ...{ prompt: usd(prices.prompt), completion: usd(prices.completion) },
      inputCacheRead: usd(prices.inputCacheRead),
    },
    routes: backends.map((name) => ({ backend: nameOf(name), upstreamModel, weight: 100 })),
  };
  return manifestOf(
    ...backends.map((name) =>
      backend(nameOf(name), {
        ...{ engine: engineKinds[name], endpoint: undefined },
        endpoints: enginesOf
          .filter((engine) => engine.backend === name)
          .map((engine) => ({ host: '127.0.0.1', port: portOf(engine.name) })),
        capacity: { maxConcurrentRequestsPerEndpoint: endpointPlaces },
      }),
    ),
    model('demo-tiny', { ...spec, id: 'demo/tiny', hedging: { mode: 'Disabled' } }),
    model('demo-thinker', { ...spec, id: 'demo/thinker', reasoning: { mode: 'Always' }, hedging: { mode: 'Auto' } }),
  );
}
