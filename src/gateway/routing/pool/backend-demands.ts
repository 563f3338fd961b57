import type { BackendDemand } from '../../core/backend-demand.ts';
import { isProvider, type Model, type Route, type Snapshot } from '../../../core/catalog.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Endpoints } from '../../../core/endpoint.ts';
import type { Pools } from './pools.ts';

/** What requests ask of the Backends of the catalog. Services of providers are none of them: they scale by themselves. */
export type BackendDemands = ReturnType<typeof createBackendDemands>;

/** In which time first tokens should come if `serviceLevel.firstTokenSeconds` of no Model with the Backend says it. */
const defaultObjectiveMs = 2000;

interface FollowedBackend {
  readonly name: string;
  readonly cluster: string;
  /** The shortest of its models. Infinity: none of them has one. */
  readonly objectiveMs: number;
  readonly attemptsEach: number | undefined;
}

/** A Backend of a model, and the part of the model's requests that comes to it. */
interface ModelShare {
  readonly cluster: string;
  readonly share: number;
}

export function createBackendDemands({
  pools,
  endpoints,
  clock,
}: {
  readonly pools: Pick<Pools, 'of'>;
  readonly endpoints: Endpoints;
  readonly clock: Pick<Clock, 'elapsed'>;
}) {
  /** By name. Undefined until there is a catalog. */
  let backends: ReadonlyMap<string, FollowedBackend> | undefined;
  let shares: ReadonlyMap<string, readonly ModelShare[]> = new Map();

  function demandFor({ name, cluster, objectiveMs, attemptsEach }: FollowedBackend): BackendDemand {
    const names = endpoints.of(cluster).map((endpoint) => endpoint.name);
    const demand = pools
      .of(cluster)
      .demand(clock.elapsed(), { objectiveMs: objectiveMs === Infinity ? defaultObjectiveMs : objectiveMs, names });
    return {
      backend: name,
      endpoints: names.length,
      work_tokens: demand.workTokens,
      refused_tokens: demand.refusedTokens,
      endpoint_tokens: demand.endpointTokens,
      filled_endpoints: attemptsEach === undefined ? 0 : demand.underWay / attemptsEach,
      under_way: demand.underWay,
      refused_requests: demand.refused,
      quiet_ms: demand.quietMs ?? null,
      first_token_ms: demand.firstMs ?? null,
    };
  }

  return {
    follow: ({ models }: Snapshot): void => {
      backends = backendsOf([...models.values()]);
      shares = new Map([...models].map(([id, { routes }]) => [id, sharesOf(routes)]));
    },
    /** No route of a model had room for a request. */
    unavailable: (modelId: string): void => {
      for (const { cluster, share } of shares.get(modelId) ?? []) pools.of(cluster).refused(clock.elapsed(), share);
    },
    read: (): readonly BackendDemand[] => [...(backends?.values() ?? [])].map(demandFor),
    /** Of one Backend. */
    of: (backend: string): BackendDemand | 'no-catalog' | 'no-backend' => {
      if (backends === undefined) return 'no-catalog';
      const followed = backends.get(backend);
      return followed === undefined ? 'no-backend' : demandFor(followed);
    },
  };
}

const scaled = ({ routes }: Pick<Model, 'routes'>): readonly Route[] =>
  routes.filter(({ backend }) => !isProvider(backend));

function backendsOf(models: readonly Model[]): ReadonlyMap<string, FollowedBackend> {
  const found = new Map<string, FollowedBackend>();
  for (const model of models) {
    for (const { backend } of scaled(model)) {
      const { name, cluster, maxConcurrentRequestsPerEndpoint: attemptsEach } = backend;
      const objectiveMs = Math.min(
        model.serviceLevel?.firstTokenMs ?? Infinity,
        found.get(name)?.objectiveMs ?? Infinity,
      );
      found.set(name, { name, cluster: cluster.name, objectiveMs, attemptsEach });
    }
  }
  return found;
}

/** By weight. All routes of a model had no room, the standbys, too; but only its other routes would have got the request. */
function sharesOf(routes: readonly Route[]): readonly ModelShare[] {
  const weights = new Map<string, number>();
  for (const { backend, weight } of scaled({ routes }))
    weights.set(backend.cluster.name, (weights.get(backend.cluster.name) ?? 0) + weight);
  const sum = weights.values().reduce((all, weight) => all + weight, 0);
  return [...weights].map(([cluster, weight]) => ({ cluster, share: sum === 0 ? 1 / weights.size : weight / sum }));
}
