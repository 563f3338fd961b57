import type { Cluster } from '../../core/catalog.ts';
import type { EnvoyAdmin } from './admin.ts';
import { type ClusterFile, ClustersRejected } from './cluster-file.ts';

/** What Envoy says of its clusters. */
export interface EnvoyClusters {
  /** Names of those that can be called. */
  readonly active: readonly string[];
  /** Endpoints by backend: all that its name stands for, and those that pass their health check. */
  readonly endpoints: ReadonlyMap<string, { readonly total: number; readonly healthy: number }>;
}

export interface Programming {
  /** `ClusterFile.apply`, with an eye on what is refused. */
  readonly apply: ClusterFile['apply'];
  /** Names of the clusters of the last set that Envoy refused, with its reason. */
  readonly refused: () => ReadonlyMap<string, string>;
  /** Asks Envoy itself; undefined while it is away. */
  readonly look: () => Promise<EnvoyClusters | undefined>;
}

export function createProgramming(options: {
  readonly clusterFile: Pick<ClusterFile, 'apply'>;
  readonly admin: EnvoyAdmin;
}): Programming {
  let refused: ReadonlyMap<string, string> = new Map();
  return {
    apply: async (clusters: readonly Cluster[]) => {
      try {
        await options.clusterFile.apply(clusters);
        refused = new Map();
      } catch (error) {
        if (error instanceof ClustersRejected) {
          refused = new Map(error.clusters.map((name) => [name, error.reason]));
        }
        throw error;
      }
    },
    refused: () => refused,
    look: async () => {
      try {
        const { active } = await options.admin.clusters();
        const stats = await options.admin.statsLike(String.raw`^cluster\..+\.membership_(total|healthy)$`);
        return { active, endpoints: endpointsOf(stats) };
      } catch {
        return undefined;
      }
    },
  };
}

/** Clusters go by their backend's name there; of two versions of one, the counts are the sum. */
function endpointsOf(stats: ReadonlyMap<string, number | string>): EnvoyClusters['endpoints'] {
  const endpoints = new Map<string, { total: number; healthy: number }>();
  for (const [name, value] of stats) {
    const [, backend = '', what] = /^cluster\.(.+)\.membership_(total|healthy)$/.exec(name) ?? [];
    const counts = endpoints.get(backend) ?? { total: 0, healthy: 0 };
    endpoints.set(backend, counts);
    counts[what === 'total' ? 'total' : 'healthy'] = Number(value);
  }
  return endpoints;
}
