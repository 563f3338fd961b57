import { backendManifest, modelManifest } from '../../../support/weir.ts';
import type { Prices } from '../cost.ts';
import { stormModels } from './storm-kinds.ts';

type Engine = { readonly port: number };

/** As `modelManifest` has them. */
export const stormPrices: Prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };

/** The manifests of a storm's models over two engines; each backend of them is one engine as one program shows it. */
export function stormCatalog(engines: readonly [Engine, Engine]): string {
  const kinds = { counting: 'vllm', late: 'llamacpp' } as const;
  const backends = Object.entries(kinds).flatMap(([name, kind]) =>
    engines.map((engine, index) => backendManifest(`backend-of-test-${name}-${index}`, engine, kind)),
  );
  const { slow, ...others } = stormModels;
  const models = [...Object.values(others), ...slow].map((id) => {
    const name = id === stormModels.late ? 'late' : 'counting';
    return modelManifest(id, [`backend-of-test-${name}-0`, `backend-of-test-${name}-1`]);
  });
  return [...backends, ...models].join('');
}
