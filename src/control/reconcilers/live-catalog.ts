/** Renders the catalog as this service observes it (`LiveCatalog`), for the portal. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { modelIdOf } from '../core/raw-object.ts';
import type { Capabilities } from '../../core/capability.ts';
import { kindOfModel, type KubeObject, type Model, type Route } from '../../core/catalog.ts';
import { type LiveBackend, type LiveModel, type LiveRoute, maxNamedEndpoints } from '../core/live-catalog.ts';
import { formatUsd } from '../../core/money.ts';
import { parameterNames } from '../../core/parameters.ts';
import type { EndpointCounts, ModelStatus } from '../../core/observed-catalog.ts';
import type { LiveHealth } from '../../gateway/routing/health/health.ts';
import type { EndpointTable } from './follow-endpoints.ts';
import { type CatalogView, ownConditions } from './catalog.ts';

interface LiveCatalogOptions {
  /** The same as in `createStories`. */
  readonly process: string;
  readonly now: () => number;
  readonly isReady: () => boolean;
  readonly look: () => Promise<CatalogView>;
  readonly statusOf: (model: Model) => ModelStatus;
  readonly health: Pick<LiveHealth, 'status' | 'ejected' | 'firstOutputP95'>;
  readonly endpoints: Pick<EndpointTable, 'of'>;
  readonly capabilitiesOf: (route: Route) => Capabilities;
}

/** Objects rendered in one turn of the event loop, which takes some tenths of a millisecond. */
const perTurn = 10;

/** The live catalog as JSON text, in pieces: each is made in a turn of its own. */
export async function* renderCatalog(options: LiveCatalogOptions): AsyncGenerator<string> {
  const view = await options.look();
  const head = {
    process: options.process,
    taken_at: new Date(options.now()).toISOString(),
    ready: options.isReady(),
    problems: view.problems.map(({ where, field, message }) => ({ where, field, message })),
  };
  yield JSON.stringify(head).slice(0, -1);
  const rendered = new Set<string>();
  yield* list('models', ofKind(view, 'Model'), (object) => {
    const model = modelOf(object, view, options);
    // If two objects have the same id, one of them was refused for that, and the model belongs to the other.
    if (model === undefined || rendered.has(model.id)) return undefined;
    rendered.add(model.id);
    return model;
  });
  const routes = Map.groupBy(
    [...view.compilation.snapshot.models.values()].flatMap((model) => model.routes),
    ({ backend }) => backend.name,
  );
  yield* list('backends', ofKind(view, 'Backend'), (object) =>
    backendOf(object, view, { ...options, routes: routes.get(object.name) ?? [] }),
  );
  yield '}';
}

/** The objects of a kind. Objects that serve come first. */
function ofKind({ objects, compilation }: CatalogView, kind: KubeObject['kind']): readonly KubeObject[] {
  const isRefused = ({ declared }: KubeObject): number =>
    Number(compilation.results.get(declared)?.state !== 'accepted');
  return objects.filter((object) => object.kind === kind).toSorted((a, b) => isRefused(a) - isRefused(b));
}

async function* list(
  name: string,
  objects: readonly KubeObject[],
  render: (object: KubeObject) => LiveModel | LiveBackend | undefined,
): AsyncGenerator<string> {
  yield `,"${name}":[`;
  let isFirst = true;
  for (let at = 0; at < objects.length; at += perTurn) {
    const texts = objects.slice(at, at + perTurn).flatMap((object) => {
      const rendered = render(object);
      return rendered === undefined ? [] : [JSON.stringify(rendered)];
    });
    if (texts.length > 0) yield (isFirst ? '' : ',') + texts.join(',');
    isFirst &&= texts.length === 0;
    await nextTurn();
  }
  yield ']';
}

function modelOf(object: KubeObject, view: CatalogView, options: LiveCatalogOptions): LiveModel | undefined {
  const { compilation } = view;
  const id = modelIdOf(object.declared);
  if (id === undefined) return undefined;
  const serves = compilation.results.get(object.declared)?.state !== 'refused';
  const model = serves ? compilation.snapshot.models.get(id) : undefined;
  const status = model && options.statusOf(model);
  const capabilities = (model?.routes ?? []).map(options.capabilitiesOf);
  return {
    id,
    aliases: (model?.aliases ?? []).filter((alias) => compilation.snapshot.aliases.get(alias) === id),
    listed: status?.listed ?? false,
    conditions: [...ownConditions(object, view, options.now())],
    owned_by: model?.ownedBy ?? null,
    kind: kindOfModel(model ?? {}),
    dimensions: model?.embedding?.dimensions ?? null,
    context_length: model?.contextLength ?? null,
    input_modalities: [...(model?.inputModalities ?? [])],
    reasoning: model === undefined ? null : { ...model.reasoning, efforts: [...model.reasoning.efforts] },
    parameters: parameterNames.filter((name) => capabilities.some(({ parameters }) => parameters.includes(name))),
    tools: capabilities.some(({ tools }) => tools.stream),
    pricing: model === undefined ? null : pricesOf(model),
    availability: status?.availability ?? null,
    min_availability: model?.serviceLevel?.minAvailability ?? null,
    tokens_per_second_p50: status?.figure?.tokensPerSecondP50 ?? null,
    first_token_ms_p50: status?.figure?.firstTokenMsP50 ?? null,
    routes: (model?.routes ?? []).map((route) => routeOf(route, options)),
  };
}

export function pricesOf({ prices }: Pick<Model, 'prices'>): NonNullable<LiveModel['pricing']> {
  const { prompt, completion, inputCacheRead } = prices;
  return {
    prompt: formatUsd(prompt),
    completion: formatUsd(completion),
    input_cache_read: formatUsd(inputCacheRead),
  };
}

/** The state of a route depends on the kind of request. The catalog shows it for a stream without tools or structure. */
const plainStream = { stream: true, capabilities: [] } as const;

function routeOf(route: Route, { health, endpoints }: LiveCatalogOptions): LiveRoute {
  const { state, hasOtherVectors, success, firstOutput, tokenMs, inFlight, capacity } = health.status(
    route,
    plainStream,
  );
  const isFull = capacity !== undefined && inFlight >= capacity;
  const whyNot = hasOtherVectors === true ? 'other-vectors' : isFull ? 'full' : 'ejected';
  return {
    route: route.id,
    backend: route.backend.name,
    engine: route.backend.engine,
    upstream_model: route.upstreamModel,
    weight: route.weight,
    state: state === 'unavailable' ? whyNot : state,
    success,
    first_output_ms: firstOutput?.ms ?? null,
    first_output_p95_ms: health.firstOutputP95(route) ?? null,
    token_ms: tokenMs ?? null,
    in_flight: inFlight,
    capacity: capacity ?? null,
    endpoints: endpoints.of(route.backend.cluster.name).length,
    ejected: health.ejected(route).slice(0, maxNamedEndpoints),
  };
}

function backendOf(
  object: KubeObject,
  view: CatalogView,
  { now, health, routes, endpoints: table }: LiveCatalogOptions & { readonly routes: readonly Route[] },
): LiveBackend {
  const backend = view.compilation.backends.get(object.name);
  const endpoints = view.own.backends.get(object.name)?.endpoints;
  const failing = endpoints?.failing ?? [];
  const out = new Set(failing.map(({ endpoint }) => endpoint));
  const serving = backend === undefined || endpoints === undefined ? [] : table.of(backend.cluster.name);
  const [first] = routes;
  return {
    name: object.name,
    engine: backend?.engine ?? null,
    conditions: [...ownConditions(object, view, now())],
    in_flight: first === undefined ? 0 : health.status(first, plainStream).inFlight,
    capacity: backend?.maxConcurrentRequests ?? null,
    endpoints: endpoints === undefined ? null : countsOf(endpoints),
    failing: failing.slice(0, maxNamedEndpoints).map(({ endpoint, why }) => ({ endpoint, why })),
    serving: serving.flatMap(({ name }) => (out.has(name) ? [] : [name])).slice(0, maxNamedEndpoints),
  };
}

const countsOf = ({ total, healthy, ejected, unhealthy }: EndpointCounts): EndpointCounts => ({
  total,
  healthy,
  ejected,
  unhealthy,
});
