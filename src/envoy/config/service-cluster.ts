import { typed } from './typed.ts';
import type { JsonObject } from './typed.ts';

export const serviceCluster = 'weir-service';

/** More than a machine can hold: the limits that matter are the service's own and the overload manager's. */
export const unlimited = 1_000_000;

/** The ext_proc service behind its Unix socket. */
export function extprocCluster(extprocSocket: string): JsonObject {
  return {
    name: serviceCluster,
    type: 'STATIC',
    connect_timeout: '1s',
    per_connection_buffer_limit_bytes: 256 * 1024,
    circuit_breakers: {
      thresholds: [
        { max_connections: unlimited, max_pending_requests: unlimited, max_requests: unlimited, max_retries: 0 },
      ],
    },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': typed(
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        {
          explicit_http_config: {
            http2_protocol_options: {
              initial_stream_window_size: 64 * 1024,
              initial_connection_window_size: 16 * 1024 * 1024,
            },
          },
        },
      ),
    },
    load_assignment: {
      cluster_name: serviceCluster,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: extprocSocket } } } }] }],
    },
  };
}
