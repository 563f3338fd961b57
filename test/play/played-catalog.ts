import { formatUsd } from '../../src/core/money.ts';
import { manifestOf } from '../envoy/support/catalog-manifest.ts';
import { endpointPlaces, enginesOf, prices } from '../simulation/catalog.ts';
import { usualDimensions } from '../programmable-engine/vectors.ts';
import { inputsOfCall } from '../simulation/vectors.ts';
import type { MadeCatalog } from '../simulation/check-catalog.ts';
import { backend, model } from '../support/catalog-objects.ts';
import type { PlayedEngine } from './played-engine.ts';

/** What engines call all models. */
export const upstreamModel = 'demo-chat';

const engineKinds = { a: 'vllm', b: 'sglang' } as const;
// No answer may have this in it (`close` of a gateway).
const nameOf = (backendName: string): string => `backend-of-test-${backendName}`;

/** The simulation's catalog as manifests, and a model for ranks: all on these backends. */
export function playedManifests(
  engines: readonly Pick<PlayedEngine, 'name' | 'port'>[],
  backends: readonly ('a' | 'b')[],
  { factor, window }: Pick<MadeCatalog, 'factor' | 'window'>,
): string {
  const portOf = (name: string): number | undefined => engines.find((engine) => engine.name === name)?.port;
  const usd = (picoUsd: bigint): string => formatUsd(picoUsd * BigInt(factor));
  const common = {
    ...{ ownedBy: 'demo', contextLength: window },
    routes: backends.map((name) => ({ backend: nameOf(name), upstreamModel, weight: 100 })),
  };
  const spec = {
    ...common,
    pricing: {
      ...{ prompt: usd(prices.prompt), completion: usd(prices.completion) },
      inputCacheRead: usd(prices.inputCacheRead),
    },
  };
  const ofTexts = { ...common, pricing: { prompt: usd(prices.prompt) }, hedging: { mode: 'Disabled' } };
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
    model('demo-vectors', {
      ...{ ...ofTexts, id: 'demo/vectors', kind: 'Embedding' },
      embedding: { dimensions: usualDimensions, maxInputs: inputsOfCall },
    }),
    model('demo-ranks', {
      ...{ ...ofTexts, id: 'demo/ranks', kind: 'Rerank' },
      rerank: { maxDocuments: inputsOfCall },
    }),
  );
}
