import { z } from 'zod';
import { furtherPathsModes } from '../../core/api-paths.ts';
import { logLevelSchema } from '../../core/log-level.ts';
import { searchForms } from '../../core/web-search.ts';
import { receiverSettings } from './receiver-settings.ts';
import * as form from './setting-forms.ts';

const { setting } = form;

/** Read by the service and by its Envoy, which must agree. */
const responses = setting(
  form.choice(['off', 'stateless']).default('off'),
  'Third surface, POST /v1/responses, which stores nothing: stateless turns it on; off: Weir answers this path like any unknown path.',
);

const furtherPaths = setting(
  form.choice(furtherPathsModes).default('off'),
  'Further paths for agents and tools: GET /v1/key, which returns a key’s limits and remaining budget, GET /v1/models/{id}, and POST /v1/messages/count_tokens. with-balance: GET /v1/key also returns the workspace balance; off: Weir answers these paths like any unknown path.',
);

/**
 * Every setting of `weir serve`. Each is an environment variable with the prefix `WEIR_`. `settingsHelp` prints
 * descriptions, defaults, bounds and choices from here.
 */
export const settingsSchema = z.object({
  WEIR_DATA: setting(
    form.text.default('.weir'),
    'Folder of the database, unless a URL names another, and of the journal; it must be persistent.',
  ),
  WEIR_RUN: setting(form.text.default('.weir/run'), 'Folder of the sockets that Envoy and the service share.'),
  WEIR_MANIFESTS: setting(form.text.default('manifests'), 'Folder of Backend, Model and Secret objects.'),
  WEIR_TOKENIZERS: setting(
    form.text.optional(),
    'Folder of the tokenizer folders that models name; default: tokenizers in the data folder.',
  ),
  WEIR_DATABASE_URL: setting(
    form.text.optional(),
    'Database, postgres://USER:PASSWORD@HOST:PORT/NAME or sqlite:PATH; default: SQLite in the data folder.',
  ),
  WEIR_LEDGER_RETENTION_DAYS: setting(
    form.wholeNumber(0, 36_500).default(90),
    'Minimum number of days for which the ledger keeps single requests; PostgreSQL drops whole months. Weir keeps their totals permanently. 0: Weir keeps all requests.',
  ),
  WEIR_VALKEY_URL: setting(
    form.valkeyAddress.optional(),
    'Valkey or Redis in which replicas share rate, concurrency, blocked addresses and endpoint reports: one server, or several URLs of a cluster, separated by commas; default: memory.',
  ),
  WEIR_REPLICAS: setting(
    form.wholeNumber(1, 10_000).default(1),
    'Number of replicas. Each one enforces its share of the limits until Valkey reports the real number.',
  ),
  WEIR_KUBERNETES_NAMESPACE: setting(
    form.namespaceName.optional(),
    'Namespace of the Backends and Models; if set, Weir reads the catalog from Kubernetes, in a pod with its service account, otherwise with KUBECONFIG.',
  ),
  WEIR_ACCOUNT_NAMESPACES: setting(
    form.accountNamespaces.optional(),
    'Namespaces whose Workspaces, ApiKeys, Credits and Identities Weir reconciles, separated by commas, in addition to the namespace that contains Backends and Models; none: only commands, the admin API and the portal create accounts. Default: only that namespace, or the manifest folder.',
  ),
  WEIR_POD_NAME: setting(
    form.podName.optional(),
    'Unique name of this replica in the namespace; default: the host name.',
  ),
  WEIR_OPS_HOST: setting(
    form.ipAddress.default('127.0.0.1'),
    'Listen address of the ops port; 0.0.0.0 admits probes and scrapers from other hosts.',
  ),
  WEIR_OPS_PORT: setting(form.port.default(9090), 'Port of /metrics, /livez and /readyz; 0 takes a free one.'),
  WEIR_ABUSE_CONTACT: setting(z.string().min(3).default('abuse@example.com'), 'Address named to suspended callers.'),
  WEIR_IDLE_SECONDS: setting(
    form.wholeNumber(1, 86_400).default(120),
    'Maximum silence of an engine, seconds, before Weir aborts its attempt; 10 times as long for an answer that does not stream. Comments do not count as payload.',
  ),
  WEIR_KEEP_ALIVE_SECONDS: setting(
    form.wholeNumber(1, 3600).default(15),
    'Silence towards a caller, seconds, after which Weir starts the answer and keeps it alive: with events on a stream, with white space before JSON.',
  ),
  WEIR_DRAIN_SECONDS: setting(
    form.wholeNumber(0, 3600).default(30),
    'Time for open requests to finish during shutdown, seconds.',
  ),
  WEIR_IMAGE_HOSTS: setting(
    form.imageHosts.default('any'),
    'Hosts from which engines may fetch the images of a prompt: none, or a list such as images.example.com,*.example.org,10.0.0.5:8080; images sent as data: are always allowed.',
  ),
  WEIR_WEB_SEARCH: setting(
    form.searchProvider.optional(),
    `Provider of web search: ${searchForms}, with an instance’s URL or an API key file; default: none, and Weir refuses web search.`,
  ),
  WEIR_WEB_SEARCH_PRICE: setting(
    form.searchPrice.default(0n),
    `Price of one web search, USD from 0 to ${form.maxSearchPrice}, such as 0.005; default: 0.`,
  ),
  WEIR_SEAL_KEY_FILE: setting(
    form.text.optional(),
    'Keys that seal search results, and reasoning on the third surface, 32 random bytes in base64 or hex on each line: the first key seals, every key opens; default: a key that Weir creates in the data folder, for a single replica.',
  ),
  WEIR_RESPONSES: responses,
  WEIR_FURTHER_PATHS: furtherPaths,
  WEIR_COST_HEADERS: setting(
    form.choice(['off', 'on']).default('off'),
    'Whether answers contain the headers x-weir-cost, USD, if they are not streamed, and x-weir-budget-remaining, the key’s remaining budget.',
  ),
  WEIR_IDENTITIES: setting(
    form.choice(['off', 'on']).default('off'),
    'Tokens instead of keys: on accepts the tokens of Identities; off refuses them.',
  ),
  WEIR_BILLING_LINES: setting(
    form.choice(['drop', 'keep']).default('drop'),
    'The billing line that coding agents put before their system text: it differs in each session, so engines could not share the beginnings of prompts.',
  ),
  ...receiverSettings,
  WEIR_LOG_LEVEL: setting(
    logLevelSchema.default('info'),
    'Lowest logged level; `weir log-level` changes it while the program runs.',
  ),
  WEIR_LOG_FORMAT: setting(
    form.choice(['json', 'text']).optional(),
    'Log format: json or text; default: text in a terminal, with colours unless NO_COLOR is set, and json elsewhere.',
  ),
});

export type Settings = z.infer<typeof settingsSchema>;

/** Every setting of the Envoy in front of the service, read by `weir start` and `weir envoy bootstrap`. */
export const envoySettingsSchema = z.object({
  WEIR_EDGE_HOST: setting(
    form.ipAddress.optional(),
    'Envoy’s listen address for callers; default: 127.0.0.1 for `weir start`, 0.0.0.0 for `weir envoy bootstrap`.',
  ),
  WEIR_RESPONSES: responses,
  WEIR_FURTHER_PATHS: furtherPaths,
  WEIR_TRUSTED_HOPS: setting(form.wholeNumber(0, 99).default(0), 'Number of trusted proxies in front of Envoy.'),
  WEIR_TRUSTED_IDENTITY_HEADER: setting(
    form.headerName.optional(),
    'Header in which a trusted proxy forwards the claims of a token that it has verified, JSON in base64url; it needs WEIR_TRUSTED_HOPS above 0, and the proxy must remove it from callers’ requests.',
  ),
  WEIR_CONNECTIONS_PER_ADDRESS: setting(
    form.wholeNumber(0, 1_000_000).optional(),
    'Maximum number of open connections of an address, or a /64 of IPv6, at Envoy; it closes further ones. 0: no limit, as behind trusted proxies; default: 2500, at most a third of all.',
  ),
  WEIR_UNAUTHENTICATED_IDLE_SECONDS: setting(
    form.wholeNumber(0, 620).default(15),
    'Idle timeout, seconds, of a connection without an authenticated request; 0: 620 s as for all others, as behind trusted proxies.',
  ),
  WEIR_ENVOY_OPS_PORT: setting(
    form.port.optional(),
    'Port on 127.0.0.1 where Prometheus scrapes the metrics of `weir start`’s Envoy; default: none.',
  ),
  WEIR_TLS_CERTIFICATE_FILE: setting(z.string().optional(), 'PEM file; the edge then accepts only TLS.'),
  WEIR_TLS_KEY_FILE: setting(z.string().optional(), 'PEM file of its key.'),
});

export type EnvoySettings = z.infer<typeof envoySettingsSchema>;

const { WEIR_DATA, WEIR_DATABASE_URL, WEIR_REPLICAS, WEIR_OPS_HOST, WEIR_OPS_PORT, WEIR_DRAIN_SECONDS } =
  settingsSchema.shape;
const { WEIR_IDENTITIES, WEIR_LOG_LEVEL, WEIR_LOG_FORMAT } = settingsSchema.shape;
const { WEIR_TLS_CERTIFICATE_FILE, WEIR_TLS_KEY_FILE } = envoySettingsSchema.shape;

/** Every setting of `weir portal`, described like the settings of `weir serve`. */
export const portalSettingsSchema = z.object({
  WEIR_DATA,
  WEIR_DATABASE_URL,
  WEIR_ADMIN_HOST: setting(
    form.ipAddress.default('127.0.0.1'),
    'Address of the portal and its admin API; beyond the loopback, put a TLS proxy in front of it.',
  ),
  WEIR_ADMIN_PORT: setting(
    form.port.default(9091),
    'Port of the portal and its admin API; 0, or a port in use, takes a free one.',
  ),
  WEIR_ADMIN_TOKEN_FILE: setting(
    form.text.optional(),
    'File with the admin token, 32 characters or more; default: admin-token in the data folder, which Weir creates.',
  ),
  WEIR_ADMIN_TRUSTED_HOPS: setting(
    form.wholeNumber(0, 100).default(0),
    'Number of trusted proxies in front of the portal, for callers’ addresses and TLS.',
  ),
  WEIR_SERVICES: setting(
    form.serviceUrls.default([new URL('http://127.0.0.1:9090')]),
    'Ops ports of the services, separated by commas: they report the live state. A host name with several addresses means all of them.',
  ),
  WEIR_ACCOUNT_METRICS: setting(
    form.wholeNumber(0, 1_000).default(200),
    'Maximum number of workspaces and keys that the portal’s metrics name, by spend; 0: no metrics of accounts.',
  ),
  WEIR_PUBLIC_URL: setting(
    form.httpUrl('an address such as https://models.example.com/v1').optional(),
    'Base URL of the models for clients, with /v1: for the playground and the examples; default: no playground.',
  ),
  WEIR_IDENTITIES: setting(
    WEIR_IDENTITIES,
    'Whether the portal has the page Identities: on, if the services accept tokens.',
  ),
  WEIR_OIDC_ISSUER: setting(
    form.httpUrl('the address of an OpenID provider, such as https://accounts.example.com').optional(),
    'OpenID provider for sign-in; needs WEIR_OIDC_CLIENT_ID and WEIR_ADMIN_URL.',
  ),
  WEIR_OIDC_NAME: setting(form.text.max(50).optional(), 'Its name on the sign-in page; default: its host name.'),
  WEIR_OIDC_CLIENT_ID: setting(form.text.optional(), 'The portal’s client ID at the provider.'),
  WEIR_OIDC_CLIENT_SECRET_FILE: setting(
    form.text.optional(),
    'File with the portal’s client secret at the provider; default: none, a public client.',
  ),
  WEIR_OIDC_SCOPES: setting(
    form.oidcScopes.default('openid profile email'),
    'Scopes to request, separated by spaces; some providers send groups only for a scope of their own.',
  ),
  WEIR_OIDC_ADMINS: setting(
    form.oidcAdmins,
    'Admins, separated by commas: sub:SUBJECT, email:ADDRESS (where the provider has verified it), group:NAME.',
  ),
  WEIR_OIDC_GROUPS_CLAIM: setting(
    form.text.default('groups'),
    'Claim that lists groups; a person in a group with the name or id of a workspace is its owner, in NAME:member its member, in NAME:viewer its viewer.',
  ),
  WEIR_ADMIN_URL: setting(
    form.httpUrl('an address such as https://weir.example.com').optional(),
    'URL of the portal for browsers; register /api/v1/oidc/callback under it at the provider.',
  ),
  WEIR_LOG_LEVEL,
  WEIR_LOG_FORMAT,
});

export type PortalSettings = z.infer<typeof portalSettingsSchema>;

/** Every setting of `weir picker`, described like the settings of `weir serve`. */
export const pickerSettingsSchema = z.object({
  WEIR_PICKER_POOL: setting(
    form.namespacedName.optional(),
    'InferencePool to pick from, NAMESPACE/NAME: in a pod with its service account, otherwise with KUBECONFIG.',
  ),
  WEIR_PICKER_ENDPOINTS: setting(
    form.endpointList.optional(),
    'The endpoints, instead of a pool, separated by commas: 10.0.0.5:8000,10.0.0.6:8000.',
  ),
  WEIR_PICKER_HOST: setting(
    form.ipAddress.default('127.0.0.1'),
    'Listen address of the picker and of its health service; 0.0.0.0 admits gateways on other hosts.',
  ),
  WEIR_PICKER_PORT: setting(form.port.default(9002), 'Port for gateways, ext_proc over gRPC; 0 takes a free one.'),
  WEIR_PICKER_HEALTH_PORT: setting(
    form.port.default(9003),
    'Port of the gRPC health service, without TLS; 0 takes a free one.',
  ),
  WEIR_PICKER_RETRY_ENDPOINTS: setting(
    form.wholeNumber(0, 7).default(0),
    'Number of further endpoints in the answer, for retries of a gateway that reads a list; a cluster of the type ORIGINAL_DST reads only one.',
  ),
  WEIR_PICKER_FIRST_TOKEN_SECONDS: setting(
    form.wholeNumber(1, 3600).optional(),
    'Refuse requests with 429 if their first token would come later than this at every endpoint: a share that grows up to one and a half times of it; default: refuse none.',
  ),
  WEIR_TLS_CERTIFICATE_FILE: setting(
    WEIR_TLS_CERTIFICATE_FILE,
    'PEM file; the picker then accepts only TLS, as most gateways expect.',
  ),
  WEIR_TLS_KEY_FILE,
  WEIR_PICKER_CLIENT_CA_FILE: setting(
    WEIR_TLS_CERTIFICATE_FILE,
    'PEM file with the authorities that sign the gateways’ certificates; default: gateways need no certificate.',
  ),
  WEIR_REPLICAS: setting(
    WEIR_REPLICAS,
    'Number of pickers for this pool. With two or more, all of them expect a conversation at the same endpoint.',
  ),
  WEIR_OPS_HOST,
  WEIR_OPS_PORT,
  WEIR_DRAIN_SECONDS,
  WEIR_LOG_LEVEL,
  WEIR_LOG_FORMAT,
});

export type PickerSettings = z.infer<typeof pickerSettingsSchema>;

const allSettings = { ...portalSettingsSchema.shape, ...settingsSchema.shape, ...envoySettingsSchema.shape };

/** Every setting of `weir start`: the settings of the service, the portal and Envoy, and those of `weir start` alone. */
export const startSettingsSchema = z.object(allSettings).extend({
  // If one of these is unset, `weir start` uses its own folder or address.
  WEIR_DATA: form.text.optional(),
  WEIR_MANIFESTS: form.text.optional(),
  WEIR_SERVICES: form.serviceUrls.optional(),
  // 9090 is the port of Prometheus, which often runs on the same machine (docs/decisions/0070).
  WEIR_OPS_PORT: setting(
    form.port.default(9190),
    'Port of /metrics, /livez and /readyz of the service, the next ones for the further services of --replicas; 0, or a port in use, takes a free one.',
  ),
  WEIR_WATCHDOG_SECONDS: setting(
    form.wholeNumber(0, 9999).default(15),
    'Time after which a service or an Envoy that does not answer is ended and started again; 0: never.',
  ),
  WEIR_UPSTREAM_KEY: setting(z.string().optional(), 'Key of the engine of --upstream, which `ps` does not show.'),
});

export type StartSettings = z.infer<typeof startSettingsSchema>;

const milliseconds = form.wholeNumber(1, 600_000).optional();
const spans = form.wholeNumber(1, 1_000_000).optional();
const compression = form.choice(['gzip', 'none']).optional();
const protocol = form.choice(['grpc', 'http/protobuf', 'http/json']).optional();

/**
 * OpenTelemetry's own environment variables, those for Weir's own decisions. The SDK's exporter reads headers, timeout,
 * compression and certificates itself.
 *
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export const tracingSettingsSchema = z.object({
  OTEL_TRACES_EXPORTER: form.choice(['otlp', 'none']).default('otlp'),
  OTEL_EXPORTER_OTLP_ENDPOINT: form.otlpEndpoint.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: form.otlpEndpoint.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_HEADERS: form.otlpHeaders.optional(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: form.otlpHeaders.optional(),
  OTEL_EXPORTER_OTLP_TIMEOUT: milliseconds,
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: milliseconds,
  OTEL_EXPORTER_OTLP_COMPRESSION: compression,
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression,
  OTEL_TRACES_SAMPLER: form.traceSampler.prefault('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: form.share.default(1),
  OTEL_PROPAGATORS: form.propagators.optional(),
  OTEL_BSP_SCHEDULE_DELAY: milliseconds,
  OTEL_BSP_EXPORT_TIMEOUT: milliseconds,
  OTEL_BSP_MAX_QUEUE_SIZE: spans,
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: spans,
});

/** The settings of every program that keeps running. */
export type LogSettings = Pick<Settings, 'WEIR_LOG_LEVEL' | 'WEIR_LOG_FORMAT'>;
