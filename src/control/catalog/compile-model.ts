import { type Backend, type CapabilityOverrides, modalities, type Model, type Route } from '../../core/catalog.ts';
import { didYouMean } from '../../core/near-name.ts';
import { parseUsd, type Prices } from '../../core/money.ts';
import { engines } from '../../gateway/engines/engines.ts';
import type { SchemaFault } from '../core/schema-faults.ts';
import { unixSeconds } from './resources/fields.ts';
import type { ModelSpec, RouteSpec } from './resources/model.ts';

export interface CompiledModel {
  /** Absent when no route of the Model is left. */
  readonly model?: Model;
  readonly faults: readonly SchemaFault[];
}

export interface BackendsInSight {
  readonly usable: ReadonlyMap<string, Backend>;
  /** Names of all Backend objects, good or bad, to distinguish a missing Backend from a broken one. */
  readonly named: ReadonlySet<string>;
}

/** Compiles a Model that passed its schema. A bad route is reported and left out; the good ones serve. */
export function compileModel(
  spec: ModelSpec,
  routeIndexes: readonly number[],
  backends: BackendsInSight,
): CompiledModel {
  const faults: SchemaFault[] = [];
  const routes: Route[] = [];
  spec.routes.forEach((route, position) => {
    const backend = backends.usable.get(route.backend);
    if (backend === undefined) {
      const path = ['spec', 'routes', routeIndexes[position] ?? position, 'backend'];
      faults.push({ path, message: unusable(route.backend, backends) });
      return;
    }
    const lack = lackOf(spec, backend);
    if (lack === undefined) routes.push(compileRoute(spec.id, route, backend));
    else faults.push({ path: ['spec', 'routes', routeIndexes[position] ?? position, 'backend'], message: lack });
  });
  const prices = compilePrices(spec.pricing);
  if (prices === undefined) faults.push({ path: ['spec', 'pricing'], message: 'expected decimals in USD' });
  if (prices === undefined || routes.length === 0) return { faults };
  return { model: assemble(spec, prices, routes), faults };
}

/** What the engine of a backend lacks for a model. Undefined: nothing. */
function lackOf({ kind, embedding }: ModelSpec, { name, engine }: Backend): string | undefined {
  const { servesChat, embeddings, rerank } = engines[engine];
  const expected = (what: string): string => `expected a Backend whose engine ${what}, "${name}" is ${engine}`;
  switch (kind) {
    case 'Chat':
      return servesChat === false ? expected('serves chat') : undefined;
    case 'Rerank':
      return rerank === undefined ? expected('orders documents') : undefined;
    case 'Embedding':
      if (embeddings === undefined) return expected('makes embeddings');
      if (embedding?.tokenIds === true && !embeddings.tokenIds) return expected('takes token ids');
      if ((embedding?.shorterDimensions.length ?? 0) > 0 && !embeddings.dimensions) return expected('shortens vectors');
      return undefined;
  }
}

function unusable(name: string, { named }: BackendsInSight): string {
  return named.has(name)
    ? `expected a usable Backend, "${name}" has a problem of its own`
    : `expected a Backend, there is none named "${name}"${didYouMean(name, [...named])}`;
}

function compileRoute(modelId: string, route: RouteSpec, backend: Backend): Route {
  return {
    id: `${modelId}@${backend.name}`,
    backend,
    upstreamModel: route.upstreamModel,
    weight: route.weight,
    capabilities: compileCapabilities(route.capabilities),
  };
}

/** Removes the fields that are undefined. A spread of the result then overrides no value with undefined. */
export function withoutAbsent<T extends Record<string, unknown>>(
  given: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the keys are those of the argument
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function compileCapabilities(given: RouteSpec['capabilities']): CapabilityOverrides {
  const { reasoning, ...rest } = given;
  return { ...withoutAbsent(rest), ...(reasoning && { reasoning: withoutAbsent(reasoning) }) };
}

function compilePrices(pricing: ModelSpec['pricing']): Prices | undefined {
  const prompt = parseUsd(pricing.prompt);
  // The schema demands the price of a chat model.
  const completion = parseUsd(pricing.completion ?? '0');
  const inputCacheRead = parseUsd(pricing.inputCacheRead ?? pricing.prompt);
  if (prompt === undefined || completion === undefined || inputCacheRead === undefined) return undefined;
  return { prompt, completion, inputCacheRead };
}

const kinds = { Chat: undefined, Embedding: 'embedding', Rerank: 'rerank' } as const;

function assemble(spec: ModelSpec, prices: Prices, routes: readonly Route[]): Model {
  const { serviceLevel, tokenizer } = spec;
  return {
    id: spec.id,
    aliases: spec.aliases,
    ownedBy: spec.ownedBy,
    added: unixSeconds(spec.added),
    kind: kinds[spec.kind],
    embedding: spec.embedding && {
      ...spec.embedding,
      shorterDimensions: [...new Set(spec.embedding.shorterDimensions)].sort((a, b) => a - b),
      minSimilarity: Number(spec.embedding.minSimilarity),
    },
    rerank: spec.rerank,
    contextLength: spec.contextLength,
    // The catalog publishes one of exactly two lists (docs/reference/api.md §2.1).
    inputModalities: spec.inputModalities.includes('image') ? modalities : ['text'],
    prices,
    reasoning: { mode: spec.reasoning.mode, efforts: [...new Set(spec.reasoning.efforts)] },
    tokenizer: tokenizer && { path: tokenizer.path, tokensPerImage: tokenizer.tokensPerImage },
    cacheSharing: spec.cacheSharing,
    hedging: spec.hedging.mode === 'Auto' ? 'Auto' : 'Disabled',
    serviceLevel: serviceLevel && {
      minAvailability: Number(serviceLevel.minAvailability),
      windowSeconds: serviceLevel.windowSeconds,
      firstTokenMs: serviceLevel.firstTokenSeconds === undefined ? undefined : serviceLevel.firstTokenSeconds * 1000,
    },
    routes,
  };
}
