import { verifiedClaimsHeader } from '../../../core/identity.ts';
import { tagsHeader } from '../../../core/tags.ts';
import { type ServedApi, usualSurfaces } from '../../../core/api-paths.ts';
import type { TraceSampling } from '../../../core/trace.ts';
import { type ConnectionLimits, connectionFilters, requestFilters } from './connection-limits.ts';
import { runFolder } from './run-folder.ts';
import { edgeRoutes, extprocFilter, floodLimit, modelsLimitFilter } from './edge-routes.ts';
import { ownReplies } from './own-replies.ts';
import { openingRetries, serviceCluster } from './service-cluster.ts';
import { edgeTracing } from './tracing.ts';
import { connectionManager, extension, type ConfigObject, overwrite, typed } from './typed.ts';

/** Limits per client address that hold unless the options say otherwise. */
export const defaultRates = {
  /** Requests on every path. */
  flood: { perSecond: 5_000, burst: 10_000 },
  /** `GET /v1/models` (docs/reference/api.md §8). */
  models: { perMinute: 60, burst: 120 },
} as const;

/** An operator's decisions about the edge, the listener that callers reach. */
export interface EdgeOptions extends Partial<ServedApi> {
  /** Folder of the sockets and of the clusters file; see run-folder.ts. */
  readonly runFolder: string;
  readonly edge: {
    readonly address: string;
    /** 0 lets the kernel choose; Envoy's admin page `/listeners` then shows the port. */
    readonly port: number;
    /** With a certificate the edge speaks TLS only. Its `renderEdgeCertificate` must be in the run folder before Envoy starts. */
    readonly tls?: EdgeCertificateFiles | undefined;
  };
  /** Proxies in front that append to `x-forwarded-for` and are believed. 0: the peer is the client. */
  readonly trustedHops: number;
  /** Header in which a trusted proxy passes on the claims of a token that it has verified. Absent: none does. */
  readonly identityHeader?: string | undefined;
  /** Requests per client address on every path. Default: that of `defaultRates`. */
  readonly flood?: { readonly perSecond: number; readonly burst: number };
  /** `GET /v1/models` per client address. Default: that of `defaultRates`. */
  readonly models?: { readonly perMinute: number; readonly burst: number };
  /** Services that the edge hands its requests to, each on a socket of its own. Default: one. */
  readonly services?: number | undefined;
  /** Which traces are recorded. Undefined: Envoy has no tracer. */
  readonly tracing?: TraceSampling | undefined;
  /** Limits of one caller's connections; none by default. With some, the module must be in the run folder before Envoy starts. */
  readonly connections?: ConnectionLimits | undefined;
}

/**
 * The listener that callers reach, hardened after Envoy's guide for edge proxies.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/configuration/best_practices/edge
 */
export function edgeListener(options: EdgeOptions): ConfigObject {
  const { address, port, tls } = options.edge;
  const files = runFolder(options.runFolder);
  return {
    name: 'edge',
    traffic_direction: 'INBOUND',
    address: { socket_address: { address, port_value: port } },
    per_connection_buffer_limit_bytes: 64 * 1024,
    socket_options: socketOptions,
    filter_chains: [
      {
        ...(tls === undefined
          ? {}
          : {
              transport_socket: edgeTls(files.edgeCertificateFile),
              transport_socket_connect_timeout: '10s',
            }),
        filters: [
          ...connectionFilters(options.connections, files.connectionsModule),
          callerManager(options, files.connectionsModule),
        ],
      },
    ],
  };
}

/**
 * Linux socket options, inherited by accepted connections. Keep-alive probes find a peer that vanished within 60 + 6 ×
 * 10 s. The connection of a peer that accepts nothing for five minutes while bytes wait for it is closed, also in the
 * middle of an answer. The kernel keeps 128 KiB that it cannot send yet. Without that limit it took 2 to 4 MiB for each
 * reader that stopped reading, and no gauge of Envoy shows them.
 */
const socketOptions: readonly ConfigObject[] = [
  { description: 'SO_KEEPALIVE', level: 1, name: 9, int_value: 1, state: 'STATE_PREBIND' },
  { description: 'TCP_KEEPIDLE', level: 6, name: 4, int_value: 60, state: 'STATE_PREBIND' },
  { description: 'TCP_KEEPINTVL', level: 6, name: 5, int_value: 10, state: 'STATE_PREBIND' },
  { description: 'TCP_KEEPCNT', level: 6, name: 6, int_value: 6, state: 'STATE_PREBIND' },
  { description: 'TCP_USER_TIMEOUT (ms)', level: 6, name: 18, int_value: 300_000, state: 'STATE_PREBIND' },
  { description: 'TCP_NOTSENT_LOWAT', level: 6, name: 25, int_value: 128 * 1024, state: 'STATE_PREBIND' },
];

function callerManager(options: EdgeOptions, connectionsModule: string): ConfigObject {
  const { surfaces = usualSurfaces, furtherPaths } = options;
  const served = { surfaces, furtherPaths };
  return connectionManager({
    stat_prefix: 'edge',
    // HTTP/1.1, or HTTP/2 by ALPN or prior knowledge.
    codec_type: 'AUTO',
    route_config: edgeRoutes(options.models ?? defaultRates.models, served),
    local_reply_config: ownReplies(served),
    ...(options.tracing === undefined ? {} : { tracing: edgeTracing(options.tracing) }),
    ...identity(options.trustedHops),
    ...pathRules,
    ...limits,
    ...timeouts,
    early_header_mutation_extensions: [dropInternalHeaders],
    http_filters: [
      ...requestFilters(options.connections, connectionsModule),
      floodLimit(options.flood ?? defaultRates.flood),
      shedFilter,
      modelsLimitFilter(),
      addClient(options.identityHeader),
      handToService(options.services),
    ],
  });
}

/** How the caller is identified. Nothing in an answer identifies Envoy. */
function identity(trustedHops: number): ConfigObject {
  return {
    use_remote_address: true,
    xff_num_trusted_hops: trustedHops,
    // The caller's id is kept as it is; otherwise Envoy would pack a sampling decision into it.
    generate_request_id: true,
    preserve_external_request_id: true,
    always_set_request_id_in_response: true,
    request_id_extension: {
      typed_config: typed('envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig', {
        pack_trace_reason: false,
        use_request_id_for_trace_sampling: false,
      }),
    },
    server_header_transformation: 'PASS_THROUGH',
  };
}

/** An escaped slash is part of a name. Client libraries ask for paths such as `/v1/models/org%2Fmodel`. */
const pathRules: ConfigObject = {
  normalize_path: true,
  merge_slashes: true,
  path_with_escaped_slashes_action: 'KEEP_UNCHANGED',
};

const limits: ConfigObject = {
  max_request_headers_kb: 32,
  common_http_protocol_options: {
    max_headers_count: 100,
    headers_with_underscores_action: 'REJECT_REQUEST',
    // Longest time without requests. It is above the idle time of the usual load balancers (AWS 60 s, Google 600 s):
    // Envoy must not close a connection at the moment when they use it.
    idle_timeout: '620s',
  },
  http_protocol_options: {
    // Apache HttpClient 5.4 offers TLS in every request without it. The offer may be ignored (RFC 9110 §7.8).
    ignore_http_11_upgrade: [{ prefix: 'TLS/', ignore_case: true }],
  },
  http2_protocol_options: {
    max_concurrent_streams: 256,
    // Most bytes that one upload, and all uploads of one connection, may send before the service reads them.
    initial_stream_window_size: 256 * 1024,
    initial_connection_window_size: 1024 * 1024,
    max_outbound_frames: 10_000,
    max_outbound_control_frames: 1_000,
    max_consecutive_inbound_frames_with_empty_payload: 1,
    max_inbound_priority_frames_per_stream: 100,
    max_inbound_window_update_frames_per_data_frame_sent: 10,
    // A bad request ends its own stream and no other stream of the connection.
    override_stream_error_on_invalid_http_message: true,
  },
};

/** No timer runs while a request is being served: an answer may be minutes away, and a stream silent for minutes. */
const timeouts: ConfigObject = {
  request_headers_timeout: '15s',
  // Longest time until the whole request has arrived: 32 MB at 60 kB/s.
  request_timeout: '600s',
  stream_idle_timeout: '0s',
  // Longest time for which a complete answer waits for its caller to read it.
  stream_flush_timeout: '300s',
  delayed_close_timeout: '5s',
};

/** A regular expression for the names that begin with a prefix, except for the prefix followed by one word. RE2 has no negation. */
function prefixedExcept(prefix: string, word: string): string {
  const others = Array.from(word, (letter, at) => `${word.slice(0, at)}([^${letter}].*)?`);
  return `(?i)${prefix}(${[...others, `${word}.+`].join('|')})`;
}

/** Removes the headers with a meaning inside the gateway from callers' requests. `x-weir-tags` is for callers. */
const dropInternalHeaders: ConfigObject = extension(
  'envoy.http.early_header_mutation.header_mutation',
  'envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation',
  {
    mutations: [
      {
        remove_on_match: {
          key_matcher: { safe_regex: { regex: prefixedExcept('x-weir-', tagsHeader.slice('x-weir-'.length)) } },
        },
      },
      { remove_on_match: { key_matcher: { prefix: 'x-envoy-', ignore_case: true } } },
    ],
  },
);

/** Header in which the service finds the client's address. A caller's own is dropped before it is set. */
const clientAddressHeader = 'x-weir-client-address';

/**
 * Header with the peer's address and port and the protocol, `127.0.0.1:40312 HTTP/1.1`. It identifies the connection
 * that the answer goes to.
 */
const clientConnectionHeader = 'x-weir-client-connection';

/** Header with the moment at which Envoy had read the request's head, in milliseconds since 1970. The service computes from it how long the request waited. */
const receivedHeader = 'x-weir-received';

const set = (key: string, value: string): ConfigObject => ({ append: overwrite(key, value) });

const addClient = (identityHeader: string | undefined): ConfigObject =>
  extension('weir.client', 'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation', {
    mutations: {
      request_mutations: [
        set(clientAddressHeader, '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%'),
        set(clientConnectionHeader, '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS% %PROTOCOL%'),
        set(receivedHeader, '%START_TIME(%s%3f)%'),
        ...(identityHeader === undefined ? [] : [set(verifiedClaimsHeader, `%REQ(${identityHeader})%`)]),
      ],
    },
  });

const never: ConfigObject = { numerator: 0, denominator: 'HUNDRED' };

/**
 * Refuses a share of the requests for answers with 503 before they reach the service. The service sets the share
 * through the admin interface (`/runtime_modify`) with two runtime keys: `weir.shed.percent` and, while that is above
 * 0, `weir.shed.hold=100`.
 *
 * The filter holds a request for a millisecond first: by then its body has arrived, and the connection is kept. A reply
 * at once would close the connection, because HTTP/1.1 requires that while the request is still being received. A flood
 * of requests would then be a flood of handshakes, too.
 */
const shedFilter: ConfigObject = extension('weir.shed', 'envoy.extensions.filters.http.fault.v3.HTTPFault', {
  headers: [{ name: ':method', string_match: { exact: 'POST' } }],
  delay: { fixed_delay: '0.001s', percentage: never },
  delay_percent_runtime: 'weir.shed.hold',
  abort: { http_status: 503, percentage: never },
  abort_percent_runtime: 'weir.shed.percent',
  disable_downstream_cluster_stats: true,
});

/** Hands the request to the service, which answers it with StreamedImmediateResponse. Routes turn it on. */
const handToService = (services: number | undefined): ConfigObject => ({
  ...extension(extprocFilter, 'envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor', {
    stat_prefix: 'service',
    grpc_service: { envoy_grpc: { cluster_name: serviceCluster }, ...openingRetries(services) },
    failure_mode_allow: false,
    status_on_error: { code: 'ServiceUnavailable' },
    processing_mode: {
      request_header_mode: 'SEND',
      request_body_mode: 'FULL_DUPLEX_STREAMED',
      request_trailer_mode: 'SEND',
      response_header_mode: 'SKIP',
      response_body_mode: 'NONE',
      response_trailer_mode: 'SKIP',
    },
    // No timer runs in this body mode. This is the longest time that Envoy accepts, so that no timer ever ends a
    // request that is being served.
    message_timeout: '3600s',
  }),
  disabled: true,
});

/** PEM files. */
export interface EdgeCertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

const secret = 'edge-certificate';

/**
 * The file that names the edge's certificate to Envoy. Envoy reloads a changed certificate only if it is named in such
 * a file. Without that, the edge would stop working on the day the first certificate expires. A change is a file or
 * link moved into the certificate's folder, which is how Kubernetes renews a mounted Secret.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/configuration/security/secret#certificate-rotation
 */
export function renderEdgeCertificate({ certificateFile, keyFile }: EdgeCertificateFiles): ConfigObject {
  return {
    resources: [
      typed('envoy.extensions.transport_sockets.tls.v3.Secret', {
        name: secret,
        tls_certificate: {
          certificate_chain: { filename: certificateFile },
          private_key: { filename: keyFile },
          watched_directory: { path: folderOf(certificateFile) },
        },
      }),
    ],
  };
}

/** The edge's transport socket: TLS 1.2 or newer, HTTP/2 and HTTP/1.1 by ALPN. */
function edgeTls(edgeCertificateFile: string): ConfigObject {
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', {
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      tls_certificate_sds_secret_configs: [
        {
          name: secret,
          sds_config: { resource_api_version: 'V3', path_config_source: { path: edgeCertificateFile } },
        },
      ],
    },
  });
}

function folderOf(file: string): string {
  const slash = file.lastIndexOf('/');
  return slash === -1 ? '.' : file.slice(0, Math.max(1, slash));
}
