/** A replica's view of its catalog, which the replicas of a cluster tell each other, and of which the conditions of objects are made. */
import { hostname } from 'node:os';
import type { EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import type { Model, Route, Snapshot } from '../core/catalog.ts';
import { clusterMark, type FailingBackend, type ReplicaView, type Unreachable } from '../core/replica.ts';
import type { RouteRecord } from '../routing/health/route-record.ts';
import { createSlices } from '../process/turns.ts';
import type { Settings } from '../settings.ts';
import { type EndpointsAsked, endpointsViews } from './endpoints-view.ts';

interface Seen {
  readonly snapshot: Snapshot;
  /** Undefined: Envoy does not answer. */
  readonly envoy: EnvoyClusters | undefined;
  /** Names of clusters that Envoy refused, with its reason. */
  readonly refused: ReadonlyMap<string, string>;
}

interface ViewAsked extends EndpointsAsked {
  /** Name of this replica. */
  readonly name: string;
  readonly isServing: (route: Route) => boolean;
  readonly isListed: (model: Model) => boolean;
  readonly record: (route: Route) => RouteRecord;
}

/**
 * A replica's view of the catalog: the clusters of its Envoy with their endpoints, its routes and its list of models. The view is made in
 * slices, for the process that serves requests makes one every few seconds.
 */
export async function replicaView(asked: ViewAsked, { snapshot, envoy, refused }: Seen): Promise<ReplicaView> {
  const inSlices = createSlices();
  const active = new Set(envoy?.active);
  const models = [...snapshot.models.values()];
  const here = snapshot.clusters.filter((cluster) => active.has(cluster.name));
  const unreachable = here.flatMap(({ backend }): readonly (readonly [string, Unreachable])[] => {
    const { total, healthy } = envoy?.endpoints.get(backend) ?? { total: 1, healthy: 1 };
    if (healthy > 0) return [];
    return [[backend, total === 0 ? 'no-address' : 'unhealthy']];
  });
  const out = await inSlices(models, ({ routes }) =>
    routes.filter((route) => !asked.isServing(route)).map(({ id }) => id),
  );
  const failing = await inSlices(
    [
      ...Map.groupBy(
        models.flatMap(({ routes }) => routes),
        ({ backend }) => backend.name,
      ),
    ],
    ([backend, routes]) => failingBackend(backend, routes.map(asked.record)),
  );
  const unlisted = await inSlices(models, (model) => (asked.isListed(model) ? [] : [model.id]));
  return {
    name: asked.name,
    hasEnvoy: envoy !== undefined,
    clusters: new Set(here.map((cluster) => clusterMark(cluster.name))),
    refused: new Map(
      snapshot.clusters.flatMap(({ name: cluster, backend }) => {
        const reason = refused.get(cluster);
        return reason === undefined || active.has(cluster) ? [] : [[backend, reason] as const];
      }),
    ),
    unreachable: new Map(unreachable),
    out: new Set(out.flat()),
    failing: new Map(failing.flat()),
    unlisted: new Set(unlisted.flat()),
    endpoints: await endpointsViews(snapshot, envoy, { ...asked, inSlices }),
  };
}

/** A backend fails when the last requests of some route to it failed, and no route to it has answered since. */
function failingBackend(
  backend: string,
  records: readonly RouteRecord[],
): readonly (readonly [string, FailingBackend])[] {
  if (records.some(({ kind }) => kind === 'answers')) return [];
  const [first] = records.filter((record) => record.kind === 'fails');
  return first === undefined ? [] : [[backend, { status: first.fault.status }]];
}

/** Name of this replica among those that follow the same catalog. */
export function replicaName({ WEIR_POD_NAME }: Pick<Settings, 'WEIR_POD_NAME'>): string {
  return WEIR_POD_NAME ?? hostname().toLowerCase();
}
