/** Observes the endpoints of all Backends: the state that Envoy reports, and the endpoints that this service has ejected. */
import type { Cluster, Model, Route, Snapshot } from '../../core/catalog.ts';
import type { InSlices } from '../../core/clock.ts';
import { maxNamedEndpoints } from '../core/live-catalog.ts';
import type {
  FailingEndpoint,
  HealthCheckAnswer,
  ObservedEndpoints,
  Unreachable,
} from '../../core/observed-catalog.ts';
import type { EnvoyClusters, EnvoyEndpoints } from '../envoy/runtime/cluster-publisher.ts';
import { createSlices } from '../../process/turns.ts';

/** The service's own facts about endpoints, in addition to Envoy's reports. */
export interface EndpointFacts {
  /** Names of the endpoints to which a route sends no requests, because earlier requests failed. */
  readonly ejected: (route: Route) => readonly string[];
  /** Names of the ejected endpoints whose attempts did not fail: other endpoints answered first. */
  readonly slow: (route: Route) => readonly string[];
  /** Why no endpoint of a cluster is found; undefined where there are some. */
  readonly troubleOf: (cluster: string) => string | undefined;
  /** The answer of an endpoint that fails its health check. */
  readonly answerOf: (backend: string, endpoint: string) => HealthCheckAnswer | undefined;
}

/** The endpoints of a cluster, as Envoy reports them; undefined while Envoy does not have the cluster. */
export function envoyEndpoints(
  { active, endpoints }: EnvoyClusters,
  { name, backend }: Pick<Cluster, 'name' | 'backend'>,
): EnvoyEndpoints | undefined {
  return active.has(name) ? endpoints.get(backend) : undefined;
}

/** Why Envoy can send no request to these endpoints; undefined: it can. */
export function unreachableBy({ total, healthy }: EnvoyEndpoints): Unreachable | undefined {
  if (total === 0) return 'no-address';
  return healthy === 0 ? 'unhealthy' : undefined;
}

/** Observes the endpoints of each Backend that Envoy has, by the Backend's name. Works in slices: there may be thousands of endpoints. */
export async function observeEndpoints(
  { models, clusters }: Pick<Snapshot, 'models' | 'clusters'>,
  envoy: EnvoyClusters | undefined,
  { ejected, slow, troubleOf, answerOf, inSlices = createSlices() }: EndpointFacts & { readonly inSlices?: InSlices },
): Promise<ReadonlyMap<string, ObservedEndpoints>> {
  const routes = Map.groupBy(routesOf(models), ({ backend }) => backend.name);
  const observed = await inSlices(clusters, (cluster): readonly (readonly [string, ObservedEndpoints])[] => {
    const { name, backend } = cluster;
    const counts = envoy && envoyEndpoints(envoy, cluster);
    if (counts === undefined) return [];
    const ofBackend = routes.get(backend) ?? [];
    const names = ejectedBy(ofBackend, { total: counts.total, ejected });
    const late = new Set(names.length === 0 ? [] : ofBackend.flatMap(slow));
    const others = names.map((endpoint) => ({
      endpoint,
      why: late.has(endpoint) ? ('slow' as const) : ('requests' as const),
    }));
    const trouble = counts.total === 0 ? troubleOf(name) : undefined;
    return [[backend, { ...withEjected(counts, others, (endpoint) => answerOf(backend, endpoint)), trouble }]];
  });
  return new Map(observed.flat());
}

function* routesOf(models: ReadonlyMap<string, Model>): Generator<Route> {
  for (const { routes } of models.values()) yield* routes;
}

/**
 * The endpoints that some route has ejected. If a route has ejected all endpoints, its model is at fault and not the
 * endpoints, unless every route has ejected all of them.
 */
function ejectedBy(
  routes: readonly Route[],
  { total, ejected }: { readonly total: number } & Pick<EndpointFacts, 'ejected'>,
): readonly string[] {
  const all = routes.map(ejected);
  const partial = all.filter((names) => names.length < total);
  return [...new Set((partial.length > 0 ? partial : all).flat())].sort();
}

function withEjected(
  { total, healthy, failing }: EnvoyEndpoints,
  ejected: readonly FailingEndpoint[],
  answerOf: (endpoint: string) => HealthCheckAnswer | undefined,
): Omit<ObservedEndpoints, 'trouble'> {
  // Envoy ejects no endpoint of a Backend by itself.
  const checked = failing.flatMap(({ endpoint, why }) =>
    why === 'health-check' ? [{ endpoint, why, answer: answerOf(endpoint) }] : [],
  );
  const known = new Set(checked.map(({ endpoint }) => endpoint));
  const others = ejected.filter(({ endpoint }) => !known.has(endpoint));
  // Envoy names only some of the endpoints that it does not use: an ejected one may be among the unnamed ones.
  const unnamed = total - healthy - failing.length;
  const left = Math.min(healthy, Math.max(0, others.length - Math.max(0, unnamed)));
  return {
    total,
    healthy: healthy - left,
    ejected: left,
    unhealthy: total - healthy,
    failing: [...checked.slice(0, maxNamedEndpoints), ...others],
  };
}
