import type { BootstrapOptions } from './bootstrap-options.ts';
import { edgeListener } from './edge-listener.ts';
import { egressListener } from './egress-listener.ts';
import { adminAsCluster, opsListener } from './ops-listener.ts';
import { overloadManager } from './overload.ts';
import { runFolder } from './run-folder.ts';
import { extprocCluster, serviceCluster } from './service-cluster.ts';
import { extension, type JsonObject } from './typed.ts';

/**
 * A way to the service for the Envoy of somebody else, such as that of a cluster's gateway: bytes from a port to the
 * service's socket, as they are. This Envoy then is no edge, and still the way to the engines.
 */
function extProcListener(at: { readonly address: string; readonly port: number }): JsonObject {
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

/**
 * A day in place of 50 s. Envoy 1.40 crashes when a caller leaves after its worker has dropped the gRPC client that the
 * request was sent with (docs/decisions/0024-envoy-keeps-its-grpc-clients.md).
 */
const grpcClientIdle = '86400s';

/**
 * Envoy's whole static configuration. Clusters of backends come later, through the watched clusters file, which must
 * exist before Envoy starts. Throws when the run folder's path is too long (see run-folder.ts).
 */
export function renderBootstrap(options: BootstrapOptions): JsonObject {
  const files = runFolder(options.runFolder);
  return {
    node: { id: 'weir', cluster: 'weir' },
    admin: {
      address: { pipe: { path: files.adminSocket, mode: 0o600 } },
      ignore_global_conn_limit: true,
    },
    layered_runtime: {
      layers: [
        {
          name: 'weir',
          static_layer: {
            // Without it Envoy resets every finished ext_proc stream, and Node answers a burst of resets with GOAWAY,
            // which fails other callers' requests.
            'envoy.reloadable_features.ext_proc_graceful_grpc_close': true,
          },
        },
        // What the service sets while Envoy runs (shed-filter.ts).
        { name: 'admin', admin_layer: {} },
      ],
    },
    grpc_async_client_manager_config: { max_cached_entry_idle_duration: grpcClientIdle },
    overload_manager: overloadManager(options),
    dynamic_resources: {
      cds_config: {
        resource_api_version: 'V3',
        path_config_source: { path: files.clustersFile, watched_directory: { path: files.clustersFolder } },
      },
    },
    static_resources: {
      listeners: [
        edgeListener(options),
        egressListener(files.egressSocket),
        ...(options.ops === undefined ? [] : [opsListener(options.ops)]),
        ...(options.extProc === undefined ? [] : [extProcListener(options.extProc)]),
      ],
      clusters: [
        extprocCluster(files.extprocSocket),
        ...(options.ops === undefined ? [] : [adminAsCluster(files.adminSocket)]),
      ],
    },
  };
}
