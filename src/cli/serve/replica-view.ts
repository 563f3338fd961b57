/** What this replica sees of the catalog: its Envoy, its routes and its list, in the words that all replicas share. */
import type { Model, Route, Snapshot } from '../../core/catalog.ts';
import { clusterMark, type ReplicaView, type Unreachable } from '../../core/replica.ts';
import type { EnvoyClusters } from '../../envoy/runtime/cluster-publisher.ts';

export interface ReplicaViewOptions {
  readonly name: string;
  readonly snapshot: Snapshot;
  /** Undefined: it is away. */
  readonly envoy: EnvoyClusters | undefined;
  /** Names of clusters that Envoy refused, with its reason. */
  readonly refused: ReadonlyMap<string, string>;
  readonly isServing: (route: Route) => boolean;
  readonly isListed: (model: Model) => boolean;
}

export function replicaView({ name, snapshot, envoy, ...options }: ReplicaViewOptions): ReplicaView {
  const active = new Set(envoy?.active);
  const models = [...snapshot.models.values()];
  const here = snapshot.clusters.filter((cluster) => active.has(cluster.name));
  const unreachable = here.flatMap(({ backend }): readonly (readonly [string, Unreachable])[] => {
    const { total, healthy } = envoy?.endpoints.get(backend) ?? { total: 1, healthy: 1 };
    if (healthy > 0) return [];
    return [[backend, total === 0 ? 'no-address' : 'unhealthy']];
  });
  return {
    name,
    hasEnvoy: envoy !== undefined,
    clusters: new Set(here.map((cluster) => clusterMark(cluster.name))),
    refused: new Map(
      snapshot.clusters.flatMap(({ name: cluster, backend }) => {
        const reason = options.refused.get(cluster);
        return reason === undefined || active.has(cluster) ? [] : [[backend, reason] as const];
      }),
    ),
    unreachable: new Map(unreachable),
    out: new Set(
      models.flatMap(({ routes }) => routes.filter((route) => !options.isServing(route)).map(({ id }) => id)),
    ),
    unlisted: new Set(models.filter((model) => !options.isListed(model)).map(({ id }) => id)),
  };
}

/** Whether two views say the same. */
export function isSameView(a: ReplicaView, b: ReplicaView): boolean {
  return (
    a.hasEnvoy === b.hasEnvoy &&
    isSameMap(a.refused, b.refused) &&
    isSameMap(a.unreachable, b.unreachable) &&
    [a.clusters.symmetricDifference(b.clusters), a.out.symmetricDifference(b.out)].every(({ size }) => size === 0) &&
    a.unlisted.symmetricDifference(b.unlisted).size === 0
  );
}

function isSameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
