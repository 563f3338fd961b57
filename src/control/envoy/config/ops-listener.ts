import { atSockets } from './socket-cluster.ts';
import { type ConfigObject, connectionManager } from './typed.ts';

const adminCluster = 'weir-admin';

/** The part of the admin interface that probes and Prometheus get: three pages, read only. The whole interface could end Envoy. */
const pages = [
  // The cheapest page that is 200 for as long as the main thread answers, also while Envoy prepares to end.
  { path: '/livez', page: '/hot_restart_version' },
  { path: '/readyz', page: '/ready' },
  { path: '/metrics', page: '/stats/prometheus' },
] as const;

/**
 * A listener for probes and Prometheus, which cannot reach the admin interface's socket. A worker thread takes the request and
 * the main thread answers it: `/livez` fails when either of them hangs. `/readyz` is 503 while Envoy starts and while it
 * prepares to end.
 */
export function opsListener(ops: { readonly address: string; readonly port: number }): ConfigObject {
  return {
    name: 'ops',
    address: { socket_address: { address: ops.address, port_value: ops.port } },
    // Probes need an answer most of all when Envoy is busy.
    ignore_global_conn_limit: true,
    bypass_overload_manager: true,
    per_connection_buffer_limit_bytes: 64 * 1024,
    filter_chains: [{ filters: [toAdmin] }],
  };
}

/** The admin interface as an upstream of the ops listener. */
export function adminAsCluster(adminSocket: string): ConfigObject {
  return { name: adminCluster, connect_timeout: '1s', ...atSockets(adminCluster, [adminSocket]) };
}

const toAdmin: ConfigObject = connectionManager({
  stat_prefix: 'ops',
  codec_type: 'AUTO',
  use_remote_address: true,
  generate_request_id: false,
  normalize_path: true,
  common_http_protocol_options: { idle_timeout: '60s' },
  request_headers_timeout: '5s',
  request_timeout: '15s',
  route_config: {
    name: 'ops',
    virtual_hosts: [
      {
        name: 'ops',
        domains: ['*'],
        routes: [
          ...pages.map(({ path, page }) => ({
            match: get(path),
            route: { cluster: adminCluster, prefix_rewrite: page, timeout: '10s' },
          })),
          { match: { prefix: '/' }, direct_response: { status: 404 } },
        ],
      },
    ],
  },
  http_filters: [],
});

function get(path: string): ConfigObject {
  return { path, headers: [{ name: ':method', string_match: { exact: 'GET' } }] };
}
