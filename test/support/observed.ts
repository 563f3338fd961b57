import type { Cluster } from '../../src/core/catalog.ts';
import {
  clusterMark,
  type ObservedBackend,
  type ObservedCatalog,
  type ObservedEndpoints,
} from '../../src/core/observed-catalog.ts';

/** A catalog as a replica observes it whose Envoy has these clusters, but for the changes. */
export function observedCatalog(
  clusters: readonly Pick<Cluster, 'name'>[],
  changes: Partial<ObservedCatalog> = {},
): ObservedCatalog {
  return {
    ...{ name: 'weir-0', hasEnvoy: true, backends: new Map(), out: new Set(), unlisted: new Set(), vectors: new Map() },
    clusters: new Set(clusters.map(({ name }) => clusterMark(name))),
    ...changes,
  };
}

/** A backend that is well and of whose endpoints nothing is known, but for the changes. */
export function observedBackend(changes: Partial<ObservedBackend> = {}): ObservedBackend {
  return {
    ...{ refused: undefined, unreachable: undefined, failing: undefined },
    ...{ isUntried: false, differs: undefined, endpoints: undefined },
    ...changes,
  };
}

/** Eight healthy endpoints, but for the changes. Those that are not healthy are unhealthy to Envoy. */
export function observedEndpoints(changes: Partial<ObservedEndpoints> = {}): ObservedEndpoints {
  const { total = 8, healthy = 8, ejected = 0 } = changes;
  const counts = { total, healthy, ejected, unhealthy: total - healthy - ejected };
  return { failing: [], trouble: undefined, ...changes, ...counts };
}
