/** The current endpoints of all clusters: those that Envoy gets, and those that requests are planned with. */
import type { Cluster } from '../../core/catalog.ts';
import { type Clock, within } from '../../core/clock.ts';
import { type Endpoint, type FollowEndpoints, type FoundEndpoints, isSameEndpoints } from '../../core/endpoint.ts';
import { endpointsBehindProxy, isProxied } from '../envoy/config/proxy-tunnel.ts';
import type { EndpointDiscovery } from '../envoy/runtime/endpoint-discovery.ts';

export type EndpointTable = ReturnType<typeof createEndpointTable>;

/** A DNS server that works answers within a second. A name without an answer must not delay the other clusters. */
const firstFoundTimeoutMs = 2_000;

/** The endpoints of one cluster. */
interface Followed {
  readonly cluster: Cluster;
  readonly stop: () => void;
  /** Resolves when endpoints have been found and Envoy has them. */
  readonly known: Promise<void>;
}

interface Row {
  /** The endpoints that requests may be sent to. */
  readonly endpoints: readonly Endpoint[];
  readonly found: FoundEndpoints | undefined;
}

const nothing: Row = { endpoints: [], found: undefined };

/**
 * Envoy gets a new endpoint first, so that Envoy knows it when the first request names it. An endpoint that is gone leaves the
 * table at once.
 */
export function createEndpointTable(options: {
  readonly clock: Pick<Clock, 'after'>;
  readonly discovery: Pick<EndpointDiscovery, 'set' | 'drop'>;
}) {
  const { clock, discovery } = options;
  const followed = new Map<string, Followed>();
  const rows = new Map<string, Row>();

  async function take(cluster: string, found: FoundEndpoints): Promise<void> {
    const { endpoints, found: before } = rows.get(cluster) ?? nothing;
    const names = new Set(found.endpoints.map(({ name }) => name));
    const remaining = endpoints.filter(({ name }) => names.has(name));
    rows.set(cluster, { endpoints: remaining.length === endpoints.length ? endpoints : remaining, found });
    if (before !== undefined && isSameEndpoints(before.endpoints, found.endpoints)) return;
    await discovery.set(cluster, found.endpoints);
    // The endpoints may have changed again meanwhile.
    const now = rows.get(cluster);
    const isCurrent = now?.found !== undefined && isSameEndpoints(now.found.endpoints, found.endpoints);
    if (isCurrent && !isSameEndpoints(now.endpoints, found.endpoints))
      rows.set(cluster, { ...now, endpoints: found.endpoints });
  }

  function start(cluster: Cluster, find: FollowEndpoints): Followed {
    const { name, endpoints, tls, host } = cluster;
    const known = Promise.withResolvers<void>();
    const scheme = tls.mode === 'Disabled' ? 'http' : 'https';
    // The proxy resolves the names.
    if (isProxied(cluster)) {
      void take(name, { endpoints: endpointsBehindProxy(cluster), trouble: undefined }).then(known.resolve);
      return { cluster, stop: () => undefined, known: known.promise };
    }
    const stop = find(endpoints, {
      scheme,
      onFound: (found) => void take(name, underHost(found, host)).then(known.resolve),
    });
    return { cluster, stop, known: known.promise };
  }

  return {
    /** See `Endpoints`. */
    of: (cluster: string) => (rows.get(cluster) ?? nothing).endpoints,
    /** The last result for a cluster; undefined: there is none yet. */
    found: (cluster: string): FoundEndpoints | undefined => rows.get(cluster)?.found,
    /**
     * Follows the endpoints of these clusters and of no others. Resolves when the endpoints are known and Envoy can have
     * them, but waits no longer than 2 s. Until its endpoints are found, a cluster has none. Never rejects.
     */
    follow: async (clusters: readonly Cluster[], find: FollowEndpoints): Promise<void> => {
      const wanted = new Map(clusters.map((cluster) => [cluster.name, cluster]));
      for (const [name, { stop }] of followed) {
        if (wanted.has(name)) continue;
        stop();
        followed.delete(name);
        rows.delete(name);
        discovery.drop(name);
      }
      // Waits only for the clusters that are new: the others were waited for when they began.
      const begun: Followed[] = [];
      for (const [name, cluster] of wanted) {
        const before = followed.get(name);
        if (before !== undefined && hasSameSource(before.cluster, cluster)) continue;
        // The endpoints of the earlier source are used until those of the new one are known.
        before?.stop();
        const now = start(cluster, find);
        followed.set(name, now);
        begun.push(now);
      }
      await within(firstFoundTimeoutMs, clock, Promise.all(begun.map(({ known }) => known)));
      for (const { cluster } of begun) if (!rows.has(cluster.name)) void discovery.set(cluster.name, []);
    },
    /** Stops following. The known endpoints stay. */
    close: (): void => {
      for (const { stop } of followed.values()) stop();
      followed.clear();
    },
  };
}

/** The endpoints with the Host header that their Backend names, if it does. */
function underHost(found: FoundEndpoints, host: string | undefined): FoundEndpoints {
  if (host === undefined) return found;
  return { ...found, endpoints: found.endpoints.map((endpoint) => ({ ...endpoint, authority: host })) };
}

/** Most clusters of a changed catalog are the same objects as before. */
function hasSameSource(a: Cluster, b: Cluster): boolean {
  return a === b || (a.tls.mode === b.tls.mode && JSON.stringify(a.endpoints) === JSON.stringify(b.endpoints));
}
