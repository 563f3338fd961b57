import type { Cluster } from '../../../core/catalog.ts';
import { isAddress } from '../../../core/endpoint.ts';
import { affineBalancing, affineBound } from './affinity.ts';
import { fromDiscovery } from './endpoints.ts';
import { isProxied, keepAlive, proxyCluster, tunnelEndpoints, tunnelled } from './proxy-tunnel.ts';
import { extension, type ConfigObject, httpProtocol, typed } from './typed.ts';

/** Debian's and Alpine's bundle of public authorities. */
const systemAuthorities = '/etc/ssl/certs/ca-certificates.crt';

/**
 * Every backend's cluster as one file for Envoy's cluster discovery. Envoy replaces its whole set: it removes a cluster
 * that is not in the file. Envoy reports the version back once it has read the file. The endpoints of a cluster are not
 * in it (endpoints.ts).
 */
export function renderClusters(
  clusters: readonly Cluster[],
  version: string,
  options: { readonly systemAuthoritiesFile?: string } = {},
): ConfigObject {
  return {
    version_info: version,
    resources: clusters
      .flatMap((cluster) => [
        renderCluster(cluster, options.systemAuthoritiesFile ?? systemAuthorities),
        ...(isProxied(cluster) ? [proxyCluster(cluster)] : []),
      ])
      .map((cluster) => typed('envoy.config.cluster.v3.Cluster', cluster)),
  };
}

function renderCluster(cluster: Cluster, authorities: string): ConfigObject {
  const tls = cluster.tls.mode === 'Disabled' ? undefined : upstreamTls(cluster.tls, authorities);
  return {
    name: cluster.name,
    // Metrics carry the backend's name, because the cluster's name changes with its content.
    alt_stat_name: cluster.backend,
    connect_timeout: '5s',
    ...(isProxied(cluster)
      ? { ...tunnelEndpoints(cluster), transport_socket: tunnelled(tls) }
      : {
          type: 'EDS',
          eds_cluster_config: { eds_config: fromDiscovery },
          upstream_connection_options: keepAlive,
          ...(tls && { transport_socket: tls }),
        }),
    // A pod that has left takes no new requests, though it may still pass its health check. Its streams run to their end.
    ignore_health_on_host_removal: true,
    ...affineBalancing,
    per_connection_buffer_limit_bytes: 256 * 1024,
    ...limits(cluster),
    ...health(cluster),
    ...protocol(cluster),
  };
}

/** More than a machine can hold: the limits that matter are the service's own and the overload manager's. */
export const unlimited = 1_000_000;
function limits(cluster: Cluster): ConfigObject {
  return {
    circuit_breakers: {
      thresholds: [
        {
          max_connections: unlimited,
          max_pending_requests: unlimited,
          max_requests: cluster.maxConcurrentRequests ?? unlimited,
          max_retries: unlimited,
        },
      ],
    },
    ...(cluster.endpointsUnnamed === true ? { outlier_detection: outlierDetection } : {}),
  };
}

/**
 * If calls to a cluster name no endpoint, Envoy ejects endpoints that cannot be reached. For other clusters the service
 * does so: Envoy would also count failures that a caller's prompt causes, and that caller could eject endpoints that
 * serve all others (decision 0030).
 */
const outlierDetection: ConfigObject = {
  // The service validates an engine's answers, because it knows the request. Here, only endpoints that cannot be
  // reached count.
  split_external_local_origin_errors: true,
  consecutive_local_origin_failure: 5,
  enforcing_local_origin_success_rate: 0,
  enforcing_consecutive_5xx: 0,
  enforcing_consecutive_gateway_failure: 0,
  enforcing_success_rate: 0,
  base_ejection_time: '5s',
  max_ejection_time: '30s',
  // Envoy never ejects the last endpoint: the endpoint's own failure has more information than Envoy's refusal.
  max_ejection_percent: 50,
  always_eject_one_host: false,
};

function health({ healthCheck }: Cluster): ConfigObject {
  // No panic mode: an endpoint that failed its check gets no request, so that the next route is tried at once.
  const common = { common_lb_config: { healthy_panic_threshold: { value: 0 }, ...affineBound } };
  if (healthCheck === undefined) return common;
  const interval = `${healthCheck.intervalSeconds}s`;
  return {
    ...common,
    health_checks: [
      {
        timeout: `${Math.min(healthCheck.intervalSeconds, 3)}s`,
        interval,
        // Envoy's default is a minute for a backend without traffic. A backend that was unhealthy has no traffic until
        // it passes a check.
        no_traffic_interval: interval,
        unhealthy_threshold: 2,
        healthy_threshold: 1,
        http_health_check: { path: healthCheck.path },
      },
    ],
  };
}

function protocol(cluster: Cluster): ConfigObject {
  const http2 = {
    initial_stream_window_size: 256 * 1024,
    initial_connection_window_size: 16 * 1024 * 1024,
    connection_keepalive: { interval: '30s', timeout: '10s' },
  };
  return httpProtocol({
    // Usual Python servers close an idle connection after 5 s. Envoy must close it first, or a request would arrive on
    // a closing connection.
    common_http_protocol_options: { idle_timeout: '4s' },
    ...(cluster.tls.mode === 'Disabled'
      ? { explicit_http_config: { http_protocol_options: {} } }
      : { auto_config: { http_protocol_options: {}, http2_protocol_options: http2 } }),
  });
}

function upstreamTls(tls: Exclude<Cluster['tls'], { readonly mode: 'Disabled' }>, authorities: string): ConfigObject {
  const address = isAddress(bare(tls.serverName));
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext', {
    // RFC 6066 §3: an address is never a server name.
    ...(address ? {} : { sni: tls.serverName }),
    common_tls_context: {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      ...(tls.client && {
        tls_certificates: [
          {
            certificate_chain: { inline_string: tls.client.certificate },
            private_key: { inline_string: tls.client.key },
          },
        ],
      }),
      validation_context: {
        trusted_ca: tls.mode === 'Custom' ? { inline_string: tls.ca } : { filename: authorities },
        match_typed_subject_alt_names: [
          { san_type: address ? 'IP_ADDRESS' : 'DNS', matcher: { exact: bare(tls.serverName) } },
        ],
      },
    },
  });
}

/** Removes the brackets that URLs put around IPv6 addresses. */
function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}
