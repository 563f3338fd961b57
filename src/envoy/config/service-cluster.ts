import { extprocSocketOf, type RunFolder } from './run-folder.ts';
import { unlimited } from './clusters.ts';
import { extension, type ConfigObject, typed } from './typed.ts';

export const serviceCluster = 'weir-service';

/** The socket of the service for the streams of another Envoy. */
export const strangersCluster = 'weir-service-for-others';

/** The cluster of the port for another Envoy: bytes are forwarded as they are. */
export function strangersSocketCluster({ strangersSocket }: RunFolder): ConfigObject {
  return {
    name: strangersCluster,
    connect_timeout: '1s',
    per_connection_buffer_limit_bytes: 256 * 1024,
    ...atSocket(strangersCluster, strangersSocket),
  };
}

/**
 * The ext_proc services behind their Unix sockets. A single service always has the same socket. Several services come
 * from a file that states for each whether it gets requests (`renderServices`). A request goes to the service with the
 * fewest open requests.
 */
export function servicesCluster(files: RunFolder, services: number | undefined): ConfigObject {
  return {
    name: serviceCluster,
    connect_timeout: '1s',
    per_connection_buffer_limit_bytes: 256 * 1024,
    circuit_breakers: {
      thresholds: [
        {
          max_connections: unlimited,
          max_pending_requests: unlimited,
          max_requests: unlimited,
          max_retries: isSeveral(services) ? unlimited : 0,
        },
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
    ...(isSeveral(services) ? fromFile(files) : atSocket(serviceCluster, files.extprocSocket)),
  };
}

const isSeveral = (services: number | undefined): boolean => services !== undefined && services > 1;

function atSocket(name: string, socket: string): ConfigObject {
  return {
    type: 'STATIC',
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: at(socket) }] }] },
  };
}

const at = (socket: string): ConfigObject => ({ address: { pipe: { path: socket } } });

function fromFile(files: RunFolder): ConfigObject {
  return {
    type: 'EDS',
    eds_cluster_config: {
      eds_config: {
        resource_api_version: 'V3',
        path_config_source: { path: files.servicesFile, watched_directory: { path: files.servicesFolder } },
      },
    },
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
    // No panic mode: a service that is down or about to end gets no request, whatever the state of the others.
    common_lb_config: { healthy_panic_threshold: { value: 0 } },
  };
}

/**
 * Retries of an ext_proc stream that could not be opened, for the milliseconds until Envoy knows that a service has ended:
 * that service has no open request, so Envoy would choose it first. Nothing was sent, so nothing is done twice. Envoy keeps 64 KiB
 * of a request for the retry; a larger body that has begun to arrive gets 503.
 */
export function openingRetries(services: number | undefined): ConfigObject {
  if (!isSeveral(services)) return {};
  return {
    retry_policy: {
      retry_on: 'connect-failure,refused-stream,reset-before-request',
      num_retries: 6,
      retry_back_off: { base_interval: '0.010s', max_interval: '0.200s' },
    },
  };
}

/**
 * How Envoy uses a service. `serving`: it gets requests. `spare` (not needed) and `strained` (too many requests): they get requests only
 * while no service is serving. `away`: it gets none, and its open requests go on.
 */
export type ServiceState = 'serving' | 'spare' | 'strained' | 'away';

const health: Readonly<Record<ServiceState, string>> = {
  serving: 'HEALTHY',
  spare: 'DEGRADED',
  strained: 'DEGRADED',
  away: 'UNHEALTHY',
};

/** The services of an Envoy that has several, in the order of their numbers: the content of the file that Envoy watches. */
export function renderServices(
  files: RunFolder,
  { states, version }: { readonly states: readonly ServiceState[]; readonly version: string },
): ConfigObject {
  return {
    version_info: version,
    resources: [
      typed('envoy.config.endpoint.v3.ClusterLoadAssignment', {
        cluster_name: serviceCluster,
        endpoints: [
          {
            lb_endpoints: states.map((state, index) => ({
              health_status: health[state],
              endpoint: at(extprocSocketOf(files, index + 1)),
            })),
          },
        ],
        // One healthy service is enough: Envoy's default of 140 percent would send some requests to the strained ones, too.
        policy: { overprovisioning_factor: 10_000 },
      }),
    ],
  };
}
