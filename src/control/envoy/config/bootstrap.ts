import { edgeListener, type EdgeOptions } from './edge-listener.ts';
import { egressListener } from './egress-listener.ts';
import { adminAsCluster, opsListener } from './ops-listener.ts';
import { internalListeners, proxyListener } from './proxy-tunnel.ts';
import { runFolder, socketsOfAll } from './run-folder.ts';
import { discoveryCluster, endpointDiscovery } from './endpoints.ts';
import { servicesCluster, strangersCluster, strangersSocketCluster } from './service-cluster.ts';
import { tracingCluster, tracingRuntime } from './tracing.ts';
import { extension, type Json, type ConfigObject } from './typed.ts';

/** An operator's decisions about Envoy. Everything else follows from the design. */
export interface BootstrapOptions extends EdgeOptions {
  /** The address of Envoy for probes and Prometheus. Undefined: there is none (ops-listener.ts). */
  readonly ops?: { readonly address: string; readonly port: number } | undefined;
  /** The address of the service for another Envoy, such as that of a cluster's gateway. Undefined: there is none. */
  readonly extProc?: { readonly address: string; readonly port: number } | undefined;
  /** Open client connections of the whole process. */
  readonly maxConnections: number;
  /** Heap at which Envoy sheds load; it starts to save memory a little below. */
  readonly heapBytes: number;
}

/**
 * A day in place of 50 s. Envoy 1.40 crashes when a caller leaves after its worker has dropped the gRPC client that the
 * request was sent with (docs/decisions/0024-envoy-keeps-its-grpc-clients.md).
 */
const grpcClientIdle = '86400s';

/**
 * By default each thread wakes ten times a second to show that it runs, and another thread checks it five times. Envoy only counts
 * misses, and Weir does not read the counters.
 */
const rareWatchdog = { miss_timeout: '10s', megamiss_timeout: '20s' };

/**
 * Envoy's whole static configuration. Envoy gets the clusters of backends later, through the watched clusters file,
 * which must exist before Envoy starts. It gets their endpoints from the service. Throws when the run folder's path is
 * too long (see run-folder.ts).
 */
export function renderBootstrap(options: BootstrapOptions): ConfigObject {
  const files = runFolder(options.runFolder);
  const isTraced = options.tracing !== undefined;
  const services = socketsOfAll(files, options.services);
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
            // Without this feature, Envoy resets every finished ext_proc stream, and Node answers a burst of resets
            // with GOAWAY, which fails other callers' requests.
            'envoy.reloadable_features.ext_proc_graceful_grpc_close': true,
            ...(isTraced ? tracingRuntime : {}),
          },
        },
        // The values that the service sets while Envoy runs (`shedFilter` of edge-listener.ts).
        { name: 'admin', admin_layer: {} },
      ],
    },
    bootstrap_extensions: [internalListeners],
    grpc_async_client_manager_config: { max_cached_entry_idle_duration: grpcClientIdle },
    overload_manager: overloadManager(options),
    watchdogs: { main_thread_watchdog: rareWatchdog, worker_watchdog: rareWatchdog },
    dynamic_resources: {
      ads_config: endpointDiscovery,
      cds_config: {
        resource_api_version: 'V3',
        path_config_source: { path: files.clustersFile, watched_directory: { path: files.clustersFolder } },
      },
    },
    static_resources: {
      listeners: [
        edgeListener(options),
        egressListener(files.egressSocket, { isTraced }),
        proxyListener,
        ...(options.ops === undefined ? [] : [opsListener(options.ops)]),
        ...(options.extProc === undefined ? [] : [extProcListener(options.extProc)]),
      ],
      clusters: [
        servicesCluster(services.map(({ extprocSocket }) => extprocSocket)),
        ...(options.extProc === undefined ? [] : [strangersSocketCluster(files)]),
        discoveryCluster(services.map(({ discoverySocket }) => discoverySocket)),
        ...(isTraced ? [tracingCluster(services.map(({ tracesSocket }) => tracesSocket))] : []),
        ...(options.ops === undefined ? [] : [adminAsCluster(files.adminSocket)]),
      ],
    },
  };
}

/** Envoy's command line for a rendered bootstrap. */
export function envoyArguments(options: {
  readonly bootstrapFile: string;
  readonly concurrency?: number | undefined;
}): readonly string[] {
  return [
    '--config-path',
    options.bootstrapFile,
    // Two gateways on one machine must not meet in shared memory.
    '--disable-hot-restart',
    '--log-level',
    'warn',
    // Connections close with their next answer. By default Envoy would spread the closing over ten minutes.
    '--drain-strategy',
    'immediate',
    ...(options.concurrency === undefined ? [] : ['--concurrency', String(options.concurrency)]),
  ];
}

/**
 * Lets another Envoy reach the service: a port forwards all bytes unchanged to a socket of its own, on which the service believes no
 * header of ours, because anybody may speak on the port. Callers then come through that other Envoy, while calls to engines still go
 * through this one.
 */
function extProcListener(at: { readonly address: string; readonly port: number }): ConfigObject {
  return {
    name: 'ext-proc',
    address: { socket_address: { address: at.address, port_value: at.port } },
    per_connection_buffer_limit_bytes: 256 * 1024,
    filter_chains: [
      {
        filters: [
          extension('envoy.filters.network.tcp_proxy', 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
            stat_prefix: 'ext_proc',
            cluster: strangersCluster,
            // A stream may be silent for minutes while an engine thinks.
            idle_timeout: '0s',
          }),
        ],
      },
    ],
  };
}

const heap = 'envoy.resource_monitors.fixed_heap';
const connections = 'envoy.resource_monitors.global_downstream_max_connections';

/**
 * The measures of Envoy when memory runs short, after its own guide for edge proxies. In this order, it frees idle
 * memory, resets the streams that hold most, ends keep-alive, and refuses new requests and new connections.
 */
function overloadManager(limits: { readonly heapBytes: number; readonly maxConnections: number }): ConfigObject {
  return {
    refresh_interval: '0.25s',
    resource_monitors: [
      extension(heap, 'envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig', {
        max_heap_size_bytes: limits.heapBytes,
      }),
      extension(
        connections,
        'envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig',
        { max_active_downstream_connections: limits.maxConnections },
      ),
    ],
    // HTTP/2 streams are charged for the bytes Envoy holds for them, in classes that double from 128 KiB to 16 MiB.
    buffer_factory_config: { minimum_account_to_track_power_of_two: 17 },
    actions: [
      action('envoy.overload_actions.shrink_heap', { threshold: { value: 0.85 } }),
      // Always on: the class of 8 MiB and more is reset even when memory is plenty, and each further eighth of the heap
      // in use halves what a stream may hold. This bounds an HTTP/2 reader that stops reading one stream.
      action('envoy.overload_actions.reset_high_memory_stream', {
        scaled: { scaling_threshold: 0.001, saturation_threshold: 1 },
      }),
      action('envoy.overload_actions.disable_http_keepalive', { threshold: { value: 0.9 } }),
      action('envoy.overload_actions.stop_accepting_requests', { threshold: { value: 0.95 } }),
      action('envoy.overload_actions.stop_accepting_connections', { threshold: { value: 0.98 } }),
    ],
  };
}

function action(name: string, trigger: { readonly [key: string]: Json }): ConfigObject {
  return { name, triggers: [{ name: heap, ...trigger }] };
}
