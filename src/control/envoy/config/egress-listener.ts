import { affinityHash, affinityHeader, keepAffinity } from './affinity.ts';
import { egressTracing } from './tracing.ts';
import { type ConfigObject, connectionManager, extension, overwrite } from './typed.ts';

/** Request header that names the Envoy cluster of an upstream call. Envoy removes it before the call leaves. */
const clusterHeader = 'x-weir-cluster';

/**
 * Header of a request that names the endpoint to call, base64 of `address:port`. Envoy calls that endpoint unless it is
 * gone or unhealthy. In that case, and if a call names none, Envoy chooses an endpoint and names it in the same header
 * of the response. Envoy removes the request's header before the call leaves.
 */
const endpointHeader = 'x-weir-endpoint';

/**
 * Response header that only Envoy sets: the call failed before the upstream's answer began. The value is a list of Envoy's
 * response flags, such as `UF` (connection failed), `UC` (connection ended), `NC` (no such cluster),
 * `UH` (no healthy host), `UO` (capacity reached).
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/configuration/observability/access_log/usage
 */
const egressFailureHeader = 'x-weir-egress-failure';

/** Envoy's description of the failure, for the log only. */
const egressDetailHeader = 'x-weir-egress-detail';

/** The listener through which the service calls upstreams. It changes only its own headers of a request. */
export function egressListener(egressSocket: string, { isTraced }: { readonly isTraced: boolean }): ConfigObject {
  return {
    name: 'egress',
    traffic_direction: 'OUTBOUND',
    address: { pipe: { path: egressSocket, mode: 0o600 } },
    // The limit is for callers' connections, and these are the service's.
    ignore_global_conn_limit: true,
    bypass_overload_manager: true,
    // Each answer that the service does not read fills this buffer. A larger one is not faster.
    per_connection_buffer_limit_bytes: 64 * 1024,
    filter_chains: [{ filters: [callManager(isTraced)] }],
  };
}

/** Reads and writes `endpointHeader`. */
const chosenEndpoint: ConfigObject = extension(
  'envoy.filters.http.stateful_session',
  'envoy.extensions.filters.http.stateful_session.v3.StatefulSession',
  {
    session_state: extension(
      'envoy.http.stateful_session.header',
      'envoy.extensions.http.stateful_session.header.v3.HeaderBasedSessionState',
      { name: endpointHeader },
    ),
  },
);

/**
 * For calls that name no endpoint. A connection that could not be made is tried once more, on another endpoint of the
 * same cluster if there is one: nothing was sent, so nothing can be done twice.
 */
const otherEndpoint: ConfigObject = {
  retry_on: 'connect-failure',
  num_retries: 1,
  retry_host_predicate: [
    extension(
      'envoy.retry_host_predicates.previous_hosts',
      'envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate',
    ),
  ],
  // Each try chooses by another hash. With five tries and two endpoints, all tries of one call in 32 chose the endpoint
  // that had just refused.
  host_selection_retry_max_attempts: 40,
};

const toCluster: ConfigObject = {
  cluster_header: clusterHeader,
  hash_policy: affinityHash,
  cluster_not_found_response_code: 'SERVICE_UNAVAILABLE',
  timeout: '0s',
  idle_timeout: '0s',
};

const callManager = (isTraced: boolean): ConfigObject =>
  connectionManager({
    ...(isTraced ? { tracing: egressTracing() } : {}),
    stat_prefix: 'egress',
    codec_type: 'AUTO',
    use_remote_address: false,
    skip_xff_append: true,
    // A request without an id is not traced; engines do not get it.
    generate_request_id: isTraced,
    server_header_transformation: 'PASS_THROUGH',
    max_request_headers_kb: 96,
    // The service watches its own calls; Envoy never ends a call that is under way.
    stream_idle_timeout: '0s',
    request_timeout: '0s',
    // The service must learn at once that an engine's answer was cut: it may have to fail over. A Unix socket that is closed
    // without the usual delay of a second loses nothing.
    delayed_close_timeout: '0s',
    common_http_protocol_options: { idle_timeout: '3600s' },
    local_reply_config: {
      mappers: [
        {
          filter: {
            status_code_filter: {
              comparison: { op: 'GE', value: { default_value: 400, runtime_key: 'weir.egress' } },
            },
          },
          headers_to_add: [
            overwrite(egressFailureHeader, '%RESPONSE_FLAGS%'),
            overwrite(egressDetailHeader, '%RESPONSE_CODE_DETAILS% %UPSTREAM_TRANSPORT_FAILURE_REASON%'),
          ],
        },
      ],
    },
    route_config: {
      name: 'egress',
      // The clusters come and go while this route stays.
      validate_clusters: false,
      request_headers_to_remove: [
        clusterHeader,
        affinityHeader,
        endpointHeader,
        'x-forwarded-proto',
        'x-forwarded-for',
        'x-request-id',
      ],
      // An engine that sends such a header must not pass for Envoy.
      response_headers_to_remove: [egressFailureHeader, egressDetailHeader, endpointHeader],
      virtual_hosts: [
        {
          name: 'egress',
          domains: ['*'],
          routes: [
            // The service makes the next attempt itself, and has to see that this one failed.
            {
              match: { prefix: '/', headers: [{ name: endpointHeader, present_match: true }] },
              route: toCluster,
            },
            { match: { prefix: '/' }, route: { ...toCluster, retry_policy: otherEndpoint } },
          ],
        },
      ],
    },
    http_filters: [keepAffinity, chosenEndpoint],
  });
