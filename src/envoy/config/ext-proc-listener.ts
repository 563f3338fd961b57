import { serviceCluster } from './service-cluster.ts';
import { extension } from './typed.ts';
import type { JsonObject } from './typed.ts';

/**
 * A way to the service for the Envoy of somebody else, such as that of a cluster's gateway: bytes from a port to the
 * service's socket, as they are. This Envoy then is no edge, and still the way to the engines.
 */
export function extProcListener(at: { readonly address: string; readonly port: number }): JsonObject {
  return {
    name: 'ext-proc',
    address: { socket_address: { address: at.address, port_value: at.port } },
    per_connection_buffer_limit_bytes: 256 * 1024,
    filter_chains: [
      {
        filters: [
          extension('envoy.filters.network.tcp_proxy', 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
            stat_prefix: 'ext_proc',
            cluster: serviceCluster,
            // A stream may be silent for minutes while an engine thinks.
            idle_timeout: '0s',
          }),
        ],
      },
    ],
  };
}
