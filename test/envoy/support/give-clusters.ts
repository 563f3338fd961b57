import { createEndpointTable, type EndpointTable } from '../../../src/control/reconcilers/follow-endpoints.ts';
import type { Cluster } from '../../../src/core/catalog.ts';
import type { FollowEndpoints } from '../../../src/core/endpoint.ts';
import { createEnvoyAdmin, type EnvoyAdmin } from '../../../src/control/envoy/runtime/admin.ts';
import { type ClusterPublisher, createClusterPublisher } from '../../../src/control/envoy/runtime/cluster-publisher.ts';
import { type EndpointDiscovery, serveEndpoints } from '../../../src/control/envoy/runtime/endpoint-discovery.ts';
import { systemClock } from '../../../src/process/clock.ts';
import type { LookUp } from '../../../src/core/address.ts';
import { createHostFollower } from '../../../src/control/resolver/follow-hosts.ts';
import { systemLookUp } from '../../../src/control/resolver/system-look-up.ts';
import type { TestEnvoy } from './envoy.ts';

/** What the service has for the clusters of its Envoy, put together in the same way. */
export interface ClustersOfEnvoy {
  readonly admin: EnvoyAdmin;
  readonly publisher: ClusterPublisher;
  readonly discovery: EndpointDiscovery;
  readonly table: EndpointTable;
  /** Gives Envoy these clusters and no others, with the endpoints that their hosts have. */
  readonly give: (clusters: readonly Cluster[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function clustersOf(
  envoy: Pick<TestEnvoy, 'files'>,
  { lookUp = systemLookUp }: { readonly lookUp?: LookUp } = {},
): Promise<ClustersOfEnvoy> {
  const admin = createEnvoyAdmin(envoy.files);
  const publisher = createClusterPublisher({
    admin,
    runFolder: envoy.files,
    clock: systemClock,
  });
  const discovery = await serveEndpoints({
    socketPath: envoy.files.discoverySocket,
    onRefused: (reason) => {
      throw new Error(`Envoy refused endpoints: ${reason}`);
    },
  });
  const table = createEndpointTable({ clock: systemClock, discovery });
  const followHosts = createHostFollower({ clock: systemClock, lookUp });
  const find: FollowEndpoints = (source, how) => {
    if (source.kind !== 'hosts') throw new Error('a test without Kubernetes has no pods');
    return followHosts(source, how);
  };
  return {
    ...{ admin, publisher, discovery, table },
    give: async (clusters) => {
      await table.follow(clusters, find);
      await publisher.publish(clusters);
    },
    close: async () => {
      table.close();
      await discovery.close();
      admin.close();
    },
  };
}

/** Endpoints that every address of these hosts is one of. */
export const at = (port: number, ...hosts: readonly string[]): Cluster['endpoints'] => ({
  kind: 'hosts',
  hosts: hosts.map((host) => ({ host, port })),
});
