import type { RunFolder } from './run-folder.ts';
import { unlimited } from './clusters.ts';
import { atSockets, socketCluster } from './socket-cluster.ts';
import { extension, type ConfigObject } from './typed.ts';

export const serviceCluster = 'weir-service';

/** The socket of the service for the streams of another Envoy. */
export const strangersCluster = 'weir-service-for-others';

/** The cluster of the port for another Envoy: bytes are forwarded as they are. */
export function strangersSocketCluster({ strangersSocket }: RunFolder): ConfigObject {
  return {
    name: strangersCluster,
    connect_timeout: '1s',
    per_connection_buffer_limit_bytes: 256 * 1024,
    ...atSockets(strangersCluster, [strangersSocket]),
  };
}

/** The ext_proc services behind their Unix sockets. */
export function servicesCluster(sockets: readonly string[]): ConfigObject {
  return {
    ...socketCluster(serviceCluster, {
      sockets,
      http2: { initial_stream_window_size: 64 * 1024, initial_connection_window_size: 16 * 1024 * 1024 },
    }),
    per_connection_buffer_limit_bytes: 256 * 1024,
    circuit_breakers: {
      thresholds: [
        {
          max_connections: unlimited,
          max_pending_requests: unlimited,
          max_requests: unlimited,
          max_retries: sockets.length > 1 ? unlimited : 0,
        },
      ],
    },
    ...(sockets.length > 1 ? choice : {}),
  };
}

/** Which of several services get requests: those that listen, and of these the one with the fewest open requests. */
const choice: ConfigObject = {
  // The check only connects: it fails at once where no process listens, and a busy service passes it.
  health_checks: [
    {
      tcp_health_check: {},
      timeout: '1s',
      interval: '0.2s',
      no_traffic_interval: '0.2s',
      healthy_threshold: 1,
      unhealthy_threshold: 1,
    },
  ],
  // Compares all services. Envoy's default compares two random ones, and both may be busy.
  load_balancing_policy: {
    policies: [
      {
        typed_extension_config: extension(
          'envoy.load_balancing_policies.least_request',
          'envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest',
          { selection_method: 'FULL_SCAN' },
        ),
      },
    ],
  },
  // No panic mode: a service that is down gets no request, whatever the state of the others.
  common_lb_config: { healthy_panic_threshold: { value: 0 } },
};

/**
 * Retries of an ext_proc stream that could not be opened, for longer than Envoy takes to notice that a service has ended: that
 * service has no open request, so Envoy chooses it first until then. Nothing was sent, so nothing is done twice. Envoy keeps
 * 64 KiB of a request for the retry; a larger body that has begun to arrive gets 503.
 */
export function openingRetries(services = 1): ConfigObject {
  if (services === 1) return {};
  return {
    retry_policy: {
      retry_on: 'connect-failure,refused-stream,reset-before-request',
      num_retries: 10,
      retry_back_off: { base_interval: '0.010s', max_interval: '0.200s' },
    },
  };
}
