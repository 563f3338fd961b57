import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEnvoyProcess } from '../../../bench/plain-envoy.ts';
import { findEnvoy } from '../../../src/programs/local/find-envoy.ts';

export interface PickingEnvoyOptions {
  /** Where the picker listens on 127.0.0.1. */
  readonly pickerPort: number;
  /** Speaks TLS with the picker, and accepts any certificate, as the gateways of the extension do. Default: false. */
  readonly tls?: boolean;
  /** How both bodies are sent to the picker. Default: as the Gateway API Inference Extension wants. */
  readonly bodyMode?: 'FULL_DUPLEX_STREAMED' | 'BUFFERED' | 'STREAMED';
  /** Whether a request goes on without the picker when it fails: the extension's `FailOpen`. Default: false. */
  readonly failOpen?: boolean;
  /**
   * `header`: the address in the header `x-gateway-destination-endpoint`, and no other (ORIGINAL_DST). Endpoints: those in the header, in
   * their order, with one retry; without the header, any of them (`override_host`).
   */
  readonly upstream: 'header' | readonly number[];
  /** Whether the picker is told which endpoint has answered. Default: true. */
  readonly namesServed?: boolean;
}

export interface PickingEnvoy {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

const type = (name: string): string => `type.googleapis.com/envoy.extensions.${name}`;
const picked = 'x-gateway-destination-endpoint';

/**
 * Starts an Envoy as gateways configure theirs for an InferencePool: a filter asks the picker, and the cluster follows its header. The
 * request's header `x-subset` is the subset that the gateway lets the picker choose from.
 */
export async function startPickingEnvoy(options: PickingEnvoyOptions): Promise<PickingEnvoy> {
  const binary = await findEnvoy({ env: process.env, report: () => {} });
  const folder = await mkdtemp(join(tmpdir(), 'weir-picking-'));
  const envoy = await startEnvoyProcess({ binary, folder, concurrency: 1 }, (admin) => bootstrap(admin, options));
  return {
    port: envoy.port,
    stop: async () => {
      await envoy.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function bootstrap(adminSocket: string, options: PickingEnvoyOptions): object {
  const filters = [
    subsetFilter,
    pickerFilter(options),
    servedFilter,
    filter('envoy.filters.http.router', 'filters.http.router.v3.Router'),
  ];
  const manager = {
    stat_prefix: 'picking',
    route_config: {
      virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route(options)] }],
    },
    http_filters: filters,
  };
  return {
    admin: { address: { pipe: { path: adminSocket } } },
    static_resources: {
      listeners: [
        {
          name: 'picking',
          address: address(0),
          filter_chains: [
            {
              filters: [
                filter(
                  'envoy.filters.network.http_connection_manager',
                  'filters.network.http_connection_manager.v3.HttpConnectionManager',
                  manager,
                ),
              ],
            },
          ],
        },
      ],
      clusters: [engines(options), pickerCluster(options)],
    },
  };
}

const address = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } });
const filter = (name: string, config: string, values: object = {}): object => ({
  name,
  typed_config: { '@type': type(config), ...values },
});

/** The endpoint that has answered is in a header of the answer, from where it reaches the metadata. */
const route = ({ upstream, namesServed = true }: PickingEnvoyOptions): object => ({
  match: { prefix: '/' },
  route: {
    cluster: 'engines',
    timeout: '0s',
    ...(upstream === 'header' ? {} : { retry_policy: { retry_on: '5xx,connect-failure', num_retries: 1 } }),
  },
  response_headers_to_add: namesServed ? [{ header: { key: 'x-served', value: '%UPSTREAM_REMOTE_ADDRESS%' } }] : [],
});

const toMetadata = (namespace: string, key: string): object => ({ metadata_namespace: namespace, key, type: 'STRING' });
const metadataFilter = 'filters.http.header_to_metadata.v3.Config';
const subsetFilter = filter('subset', metadataFilter, {
  request_rules: [
    {
      header: 'x-subset',
      on_header_present: toMetadata('envoy.lb.subset_hint', 'x-gateway-destination-endpoint-subset'),
    },
  ],
});
const servedFilter = filter('served', metadataFilter, {
  response_rules: [{ header: 'x-served', on_header_present: toMetadata('envoy.lb', `${picked}-served`) }],
});

function pickerFilter({ bodyMode = 'FULL_DUPLEX_STREAMED', failOpen = false }: PickingEnvoyOptions): object {
  const trailers = bodyMode === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP';
  return filter('picker', 'filters.http.ext_proc.v3.ExternalProcessor', {
    grpc_service: { envoy_grpc: { cluster_name: 'picker' } },
    failure_mode_allow: failOpen,
    message_timeout: '10s',
    processing_mode: {
      request_header_mode: 'SEND',
      response_header_mode: 'SEND',
      request_body_mode: bodyMode,
      response_body_mode: bodyMode,
      request_trailer_mode: trailers,
      response_trailer_mode: trailers,
    },
    metadata_options: {
      forwarding_namespaces: { untyped: ['envoy.lb', 'envoy.lb.subset_hint'] },
      receiving_namespaces: { untyped: ['envoy.lb'] },
    },
  });
}

function engines({ upstream }: PickingEnvoyOptions): object {
  const shared = { name: 'engines', connect_timeout: '2s' };
  if (upstream === 'header') {
    return {
      ...shared,
      type: 'ORIGINAL_DST',
      lb_policy: 'CLUSTER_PROVIDED',
      original_dst_lb_config: { use_http_header: true, http_header_name: picked },
    };
  }
  return {
    ...shared,
    type: 'STATIC',
    load_balancing_policy: {
      policies: [
        {
          typed_extension_config: filter('picked', 'load_balancing_policies.override_host.v3.OverrideHost', {
            override_host_sources: [{ header: picked }],
            fallback_policy: {
              policies: [
                {
                  typed_extension_config: filter('any', 'load_balancing_policies.round_robin.v3.RoundRobin'),
                },
              ],
            },
          }),
        },
      ],
    },
    load_assignment: assignment('engines', upstream),
  };
}

const assignment = (name: string, ports: readonly number[]): object => ({
  cluster_name: name,
  endpoints: [{ lb_endpoints: ports.map((port) => ({ endpoint: { address: address(port) } })) }],
});

const pickerCluster = ({ pickerPort, tls = false }: PickingEnvoyOptions): object => ({
  ...(tls && { transport_socket: filter('tls', 'transport_sockets.tls.v3.UpstreamTlsContext') }),
  name: 'picker',
  type: 'STATIC',
  connect_timeout: '2s',
  typed_extension_protocol_options: {
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
      '@type': type('upstreams.http.v3.HttpProtocolOptions'),
      explicit_http_config: { http2_protocol_options: {} },
    },
  },
  load_assignment: assignment('picker', [pickerPort]),
});
