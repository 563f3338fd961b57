import type { CapabilityOverrides, Snapshot } from '../../src/core/catalog.ts';
import type { Endpoint, Endpoints } from '../../src/core/endpoint.ts';
import type { EngineName } from '../../src/core/engine-name.ts';
import type { Tokenizers } from '../../src/core/prompt.ts';
import { countTokens } from '../programmable-engine/tokens.ts';
import { modelOf, routeOf, snapshotOf, tinyPrices } from '../support/route-of.ts';
import { noTokenizers } from '../support/uncounted.ts';
import { usualDimensions } from '../programmable-engine/vectors.ts';
import { inputsOfCall } from './vectors.ts';

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

/** Requests that each endpoint takes at a time from a service. */
export const endpointPlaces = 40;

/** The window of models, tokens. A narrow one has no room for a message without a cap of its own. */
export const windows = { usual: 8_192, narrow: 4_000 } as const;

/** What both backends are, where it is not the usual. */
export interface BackendsLike {
  readonly engine: EngineName;
  readonly capabilities?: CapabilityOverrides;
  /** Whether the models have a tokenizer, which counts as the engines do. */
  readonly isCounted?: boolean;
}

/** Count texts as the engines do, and no prompts: engines tell their size. */
export const tokenizersOf = (like: BackendsLike | undefined): Tokenizers =>
  like?.isCounted === true
    ? { ...noTokenizers, countText: (_, text) => Promise.resolve(countTokens(text)) }
    : noTokenizers;

interface CatalogOptions {
  readonly factor: number;
  readonly window: number;
  readonly version: string;
  readonly places?: number | undefined;
  readonly like?: BackendsLike | undefined;
}

/** A catalog of two models for answers and one for vectors on these backends. `factor`: of the prices. `window`: of the models. `places`: of each endpoint. */
export function snapshotWith(
  backends: readonly ('a' | 'b')[],
  { factor, window, version, places = endpointPlaces, like }: CatalogOptions,
): Snapshot {
  const scaled = {
    prompt: prices.prompt * BigInt(factor),
    completion: prices.completion * BigInt(factor),
    inputCacheRead: prices.inputCacheRead * BigInt(factor),
  };
  const routes = (model: string) =>
    backends.map((backend) => ({
      ...routeOf(backend, { id: `${model}@${backend}`, capabilities: like?.capabilities ?? {} }),
      backend: {
        ...routeOf(backend).backend,
        engine: like?.engine ?? (backend === 'a' ? ('vllm' as const) : ('sglang' as const)),
        maxConcurrentRequestsPerEndpoint: places,
      },
    }));
  const tokenizer = like?.isCounted === true ? { path: 'engine' } : undefined;
  const common = { prices: scaled, contextLength: window, tokenizer };
  return snapshotOf(
    [
      modelOf(routes('tiny'), common),
      modelOf(routes('thinker'), {
        ...{ ...common, id: 'demo/thinker', hedging: 'Auto' },
        reasoning: { mode: 'Always', efforts: [] },
      }),
      modelOf(routes('vectors'), {
        ...{ ...common, id: 'demo/vectors', kind: 'embedding' },
        embedding: {
          ...{ dimensions: usualDimensions, shorterDimensions: [], maxInputs: inputsOfCall },
          ...{ minSimilarity: 0.999, tokenIds: false },
        },
      }),
    ],
    version,
  );
}

/** The endpoints that a service has found. Names come and go as a resolver answers. */
export interface EndpointList extends Endpoints {
  readonly lose: (engine: string) => void;
  readonly findAgain: (engine: string) => void;
}

export function createEndpointList(): EndpointList {
  /** How many faults hide each engine. */
  const hidden = new Map<string, number>();
  let byCluster = found(hidden);
  const hide = (engine: string, by: 1 | -1): void => {
    hidden.set(engine, (hidden.get(engine) ?? 0) + by);
    byCluster = found(hidden);
  };
  return {
    of: (cluster) => byCluster.get(cluster) ?? [],
    lose: (engine) => hide(engine, 1),
    findAgain: (engine) => hide(engine, -1),
  };
}

function found(hidden: ReadonlyMap<string, number>): ReadonlyMap<string, readonly Endpoint[]> {
  return new Map(
    ['a', 'b'].map((backend) => [
      `cluster-${backend}`,
      enginesOf
        .filter((engine) => engine.backend === backend && (hidden.get(engine.name) ?? 0) === 0)
        .map(({ endpoint }) => {
          const [address = '', port] = endpoint.split(':');
          return { name: endpoint, address, port: Number(port), authority: `${backend}.svc:8000`, zone: undefined };
        }),
    ]),
  );
}
