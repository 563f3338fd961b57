/** The endpoints of all Backends: what Envoy says of them, and which of them get no requests because earlier ones failed. */
import type { Model, Route, Snapshot } from '../core/catalog.ts';
import type { InSlices } from '../core/clock.ts';
import { mostNamedEndpoints } from '../core/live-catalog.ts';
import type { EndpointsView, HealthCheckAnswer } from '../core/replica.ts';
import type { EndpointCounts, EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import { createSlices } from '../process/turns.ts';

export interface EndpointsAsked {
  /** Names of the endpoints that a route sends no requests because earlier ones failed. */
  readonly ejected: (route: Route) => readonly string[];
  /** Why no endpoint of a cluster is found; undefined where there are some. */
  readonly troubleOf: (cluster: string) => string | undefined;
  /** What an endpoint that fails its health check answers to it. */
  readonly answerOf: (backend: string, endpoint: string) => HealthCheckAnswer | undefined;
}

/** A view with what is counted of it. */
export interface CountedEndpoints extends EndpointsView {
  /** Those that Envoy would use, and to which requests failed. The others that are not healthy are so in Envoy's eyes. */
  readonly ejected: number;
}

/** The endpoints of the Backends that Envoy has, by the Backend's name. Made in slices: thousands of endpoints take a while. */
export async function endpointsViews(
  { models, clusters }: Pick<Snapshot, 'models' | 'clusters'>,
  envoy: EnvoyClusters | undefined,
  { ejected, troubleOf, answerOf, inSlices = createSlices() }: EndpointsAsked & { readonly inSlices?: InSlices },
): Promise<ReadonlyMap<string, CountedEndpoints>> {
  const active = new Set(envoy?.active);
  const routes = Map.groupBy(routesOf(models), ({ backend }) => backend.name);
  const views = await inSlices(clusters, ({ name, backend }): readonly (readonly [string, CountedEndpoints])[] => {
    const counts = active.has(name) ? envoy?.endpoints.get(backend) : undefined;
    if (counts === undefined) return [];
    const left = leftOut(routes.get(backend) ?? [], { total: counts.total, ejected });
    const trouble = counts.total === 0 ? troubleOf(name) : undefined;
    return [[backend, { ...withLeftOut(counts, left, (endpoint) => answerOf(backend, endpoint)), trouble }]];
  });
  return new Map(views.flat());
}

function* routesOf(models: ReadonlyMap<string, Model>): Generator<Route> {
  for (const { routes } of models.values()) yield* routes;
}

/**
 * The endpoints that some route leaves out. A route that leaves out all of them says more about its model than about them,
 * unless every route does.
 */
function leftOut(
  routes: readonly Route[],
  { total, ejected }: { readonly total: number } & Pick<EndpointsAsked, 'ejected'>,
): readonly string[] {
  const all = routes.map(ejected);
  const partial = all.filter((names) => names.length < total);
  return [...new Set((partial.length > 0 ? partial : all).flat())].sort();
}

function withLeftOut(
  { total, healthy, failing }: EndpointCounts,
  names: readonly string[],
  answerOf: (endpoint: string) => HealthCheckAnswer | undefined,
): Omit<CountedEndpoints, 'trouble'> {
  // Envoy ejects no endpoint of a Backend by itself.
  const checked = failing.flatMap(({ endpoint, why }) =>
    why === 'health-check' ? [{ endpoint, why, answer: answerOf(endpoint) }] : [],
  );
  const known = new Set(checked.map(({ endpoint }) => endpoint));
  const others = names.filter((name) => !known.has(name));
  // Envoy was perhaps not asked for all that it leaves out: these may be some of the rest.
  const unnamed = total - healthy - failing.length;
  const ejected = Math.min(healthy, Math.max(0, others.length - Math.max(0, unnamed)));
  return {
    total,
    healthy: healthy - ejected,
    ejected,
    failing: [
      ...checked.slice(0, mostNamedEndpoints),
      ...others.map((endpoint) => ({ endpoint, why: 'requests' as const })),
    ],
  };
}
