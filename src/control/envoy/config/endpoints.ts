import type { Endpoint } from '../../../core/endpoint.ts';
import { socketCluster } from './socket-cluster.ts';
import type { ConfigObject } from './typed.ts';

const discoveryClusterName = 'weir-discovery';

/**
 * The source of the endpoints of Envoy's clusters: the service, on one gRPC stream for all clusters (`serveEndpoints`
 * of src/control/envoy/runtime). Files are no alternative: Envoy 1.40 opens an inotify instance for each file, and aborts when
 * it gets no further one. Linux allows a user 128 (docs/decisions/0043-endpoints-are-named-by-the-service.md).
 */
export const endpointDiscovery: ConfigObject = {
  api_type: 'DELTA_GRPC',
  transport_api_version: 'V3',
  set_node_on_first_message_only: true,
  grpc_services: [
    {
      envoy_grpc: {
        cluster_name: discoveryClusterName,
        // A service that has started waits for Envoy's connection before it accepts requests. Envoy's default grows to
        // 30 s.
        retry_policy: { retry_back_off: { base_interval: '0.1s', max_interval: '0.5s' } },
      },
    },
  ],
};

/**
 * A cluster's part. The service knows the endpoints of a cluster before Envoy has the cluster, and answers at once. While the service
 * does not answer, a restarted Envoy must not delay its probes by the default of 15 s.
 */
export const fromDiscovery: ConfigObject = { ads: {}, resource_api_version: 'V3', initial_fetch_timeout: '2s' };

/**
 * The sockets on which services publish endpoints. Each of several services behind one Envoy knows all endpoints, so
 * Envoy may use any of them.
 */
export const discoveryCluster = (sockets: readonly string[]): ConfigObject =>
  socketCluster(discoveryClusterName, {
    sockets,
    // The stream may be silent for days. These probes detect a service that hangs.
    http2: { connection_keepalive: { interval: '30s', timeout: '10s' } },
  });

/** The endpoints of a cluster as Envoy's `ClusterLoadAssignment`, by zone. */
export function renderEndpoints(cluster: string, endpoints: readonly Endpoint[]): ConfigObject {
  const zones = Map.groupBy(endpoints, ({ zone }) => zone);
  return {
    cluster_name: cluster,
    endpoints: [...zones].map(([zone, members]) => ({
      ...(zone === undefined ? {} : { locality: { zone } }),
      lb_endpoints: members.map(({ address, port, authority }) => ({
        endpoint: {
          address: { socket_address: { address, port_value: port } },
          // Without it, the host of a health check is the cluster's name.
          health_check_config: { hostname: authority },
        },
      })),
    })),
  };
}
