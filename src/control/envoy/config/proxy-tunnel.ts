import type { Cluster } from '../../../core/catalog.ts';
import { authorityOf, type Endpoint, type HostPort } from '../../../core/endpoint.ts';
import { type ConfigObject, extension, overwrite } from './typed.ts';

/**
 * Calls through a forward proxy. The backend's cluster leads to a listener inside Envoy, which asks the proxy for a tunnel to the
 * engine (CONNECT), so that the proxy learns the engine's name, and TLS is between Envoy and the engine. One listener serves all: the
 * cluster and its endpoints say in metadata which proxy to ask, with what credentials, and for which engine. Envoy's health checks run
 * on a thread without such listeners, so the schema of a Backend refuses them beside a proxy.
 */
const listenerName = 'weir-proxy';
/** Names of the metadata: that of the cluster, and that of the endpoint. */
const proxyData = 'weir.proxy';
const targetData = 'weir.target';

type Proxied = Cluster & { readonly proxy: NonNullable<Cluster['proxy']> };

export const isProxied = (cluster: Cluster): cluster is Proxied => cluster.proxy !== undefined;

/** Without this part, Envoy has no connections to itself. */
export const internalListeners: ConfigObject = extension(
  'envoy.bootstrap.internal_listener',
  'envoy.extensions.bootstrap.internal_listener.v3.InternalListener',
);

const filterState = 'envoy.filters.network.set_filter_state';

export const proxyListener: ConfigObject = {
  name: listenerName,
  internal_listener: {},
  filter_chains: [
    {
      filters: [
        extension(filterState, 'envoy.extensions.filters.network.set_filter_state.v3.Config', {
          on_new_connection: [
            {
              object_key: 'envoy.tcp_proxy.cluster',
              format_string: { text_format_source: { inline_string: `%DYNAMIC_METADATA(${proxyData}:cluster)%` } },
            },
          ],
        }),
        extension('envoy.filters.network.tcp_proxy', 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
          stat_prefix: 'proxy',
          // The metadata names the cluster. There is none of this name.
          cluster: 'weir-no-proxy',
          // An engine may think for minutes.
          idle_timeout: '0s',
          tunneling_config: {
            hostname: `%DYNAMIC_METADATA(${targetData}:host)%`,
            headers_to_add: [overwrite('proxy-authorization', `%DYNAMIC_METADATA(${proxyData}:authorization)%`)],
          },
        }),
      ],
    },
  ],
};

const proxyClusterName = ({ name }: Proxied): string => `${name}-proxy`;

/** The proxy itself. Its name is resolved by Envoy. */
export function proxyCluster(cluster: Proxied): ConfigObject {
  const name = proxyClusterName(cluster);
  const { host, port } = cluster.proxy;
  return {
    name,
    connect_timeout: '5s',
    type: 'LOGICAL_DNS',
    dns_lookup_family: 'ALL',
    // Each call has a connection of its own, and the limits are those of the backend.
    circuit_breakers: {
      thresholds: [{ max_connections: 1_000_000, max_pending_requests: 1_000_000, max_requests: 1_000_000 }],
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [
        { lb_endpoints: [{ endpoint: { address: { socket_address: { address: host, port_value: port } } } }] },
      ],
    },
    upstream_connection_options: keepAlive,
  };
}

/** A connection whose other end is gone is noticed. */
export const keepAlive: ConfigObject = {
  tcp_keepalive: { keepalive_probes: 3, keepalive_time: 30, keepalive_interval: 10 },
};

/** The engine behind the proxy, by name: its endpoints are not resolved here. */
export function tunnelEndpoints(cluster: Proxied): ConfigObject {
  return {
    type: 'STATIC',
    metadata: {
      filter_metadata: {
        [proxyData]: { cluster: proxyClusterName(cluster), authorization: cluster.proxy.authorization ?? '' },
      },
    },
    load_assignment: {
      cluster_name: cluster.name,
      endpoints: [
        {
          lb_endpoints: hostsOf(cluster).map((at) => ({
            endpoint: {
              address: {
                envoy_internal_address: { server_listener_name: listenerName, endpoint_id: connectName(at) },
              },
            },
            metadata: { filter_metadata: { [targetData]: { host: connectName(at) } } },
          })),
        },
      ],
    },
  };
}

/** The transport socket that takes the metadata along. */
export const tunnelled = (inner: ConfigObject | undefined): ConfigObject =>
  extension(
    'envoy.transport_sockets.internal_upstream',
    'envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport',
    {
      passthrough_metadata: [
        { kind: { cluster: {} }, name: proxyData },
        { kind: { host: {} }, name: targetData },
      ],
      transport_socket: inner ?? rawBuffer,
    },
  );

const rawBuffer: ConfigObject = extension(
  'envoy.transport_sockets.raw_buffer',
  'envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer',
);

/** The endpoints of a backend behind a proxy, with the names that Envoy gives them. */
export const endpointsBehindProxy = (cluster: Proxied): readonly Endpoint[] =>
  hostsOf(cluster)
    .map((at) => ({
      name: `envoy://${listenerName}/${connectName(at)}`,
      address: at.host,
      port: at.port,
      authority: cluster.host ?? authorityOf(at, schemeOf(cluster)),
      zone: undefined,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

const schemeOf = ({ tls }: Cluster) => (tls.mode === 'Disabled' ? 'http' : 'https');

/** CONNECT always names the port (RFC 9110 §9.3.6). */
const connectName = ({ host, port }: HostPort): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

const hostsOf = ({ endpoints }: Cluster): readonly HostPort[] => (endpoints.kind === 'hosts' ? endpoints.hosts : []);
