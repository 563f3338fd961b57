/** HTTP statuses of the admin API. A refusal of commands alone has none. */
export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 502 | 503;

/** `sentence` and `hint` have named parts in braces. `page`: the page of docs that explains the refusal. `field`: the one at fault. */
export type OperatorRefusalRow = readonly [
  status: RefusalStatus | undefined,
  page: string,
  sentence: string,
  /** By its name in the admin API, where it is always the same one. */
  field?: string | undefined,
  /** A sentence that the command line adds. */
  hint?: string,
];

const starting = 'docs/how-to/install.md';
const settings = 'docs/how-to/install.md#settings';
const manyCores = 'docs/how-to/install.md#many-cores';
const oneEngine = 'docs/how-to/install.md#one-engine-of-your-own';
const cluster = 'docs/how-to/kubernetes.md';
const postgres = 'docs/operate/backup.md#postgresql';
const outage = 'docs/concepts/durability.md#database-outages';
const copies = 'docs/operate/backup.md#sqlite';

/** A row of a refusal that has no status, because no request of the admin API gets it. */
type CommandRow = OperatorRefusalRow extends readonly [unknown, ...infer Others] ? Readonly<Others> : never;

/** Refusals of commands alone, in the table of all. */
export function ofCommandLine<const Rows extends Readonly<Record<string, CommandRow>>>(rows: Rows) {
  const table: unknown = Object.fromEntries(Object.entries(rows).map(([code, row]) => [code, [undefined, ...row]]));
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the entries are those of the rows
  return table as { readonly [Code in keyof Rows]: readonly [status: undefined, ...Rows[Code]] };
}

/** Refusals of every command line, and of `weir start`. */
export const programRefusals = ofCommandLine({
  command_malformed: [starting, '{reason}'],
  option_malformed: [starting, '{option}: expected {expected}, got "{value}".'],
  option_alone: [starting, '{option} works only with {needed}.'],
  sources_exclusive: [starting, '{options} exclude each other: the catalog has only one source.'],
  setting_malformed: [settings, '{reason}.'],
  database_not_opened: [outage, 'Cannot open {database}: {reason}.'],
  database_missing: [
    copies,
    'There is no database at {file}. `weir workspace create NAME` creates one; --data names its folder.',
  ],
  database_url_malformed: [postgres, 'WEIR_DATABASE_URL {reason}'],
  replicas_need_postgres: [
    manyCores,
    'WEIR_DATABASE_URL: --replicas {replicas} needs PostgreSQL, whose accounts all services share. Set it to postgres://USER:PASSWORD@HOST:PORT/NAME, or start one service.',
  ],
  replicas_need_valkey: [
    manyCores,
    'WEIR_VALKEY_URL: --replicas {replicas} needs Valkey or Redis, so that rates, concurrency and reservations hold for all services together. Set it to valkey://HOST:PORT or the path of a Unix socket, or start one service.',
  ],
  certificate_missing: [settings, '{setting}: expected a PEM file, because certificate and key belong together.'],
  certificate_unreadable: [settings, '{setting}: {file} cannot be read.'],
  certificate_without_key: [
    settings,
    'WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE: {certificate} and {key} do not match: {reason}.',
  ],
  open_files_too_few: [
    starting,
    'Envoy may have only {files} files open, which is too few; raise `ulimit -Hn` above {needed}.',
  ],
  identity_header_untrusted: [
    'docs/how-to/identities.md#behind-another-gateway',
    'WEIR_TRUSTED_IDENTITY_HEADER: Weir trusts this header only from trusted proxies; set WEIR_TRUSTED_HOPS to their number.',
  ],
  address_not_here: [starting, 'WEIR_EDGE_HOST: this machine has no address {host} to listen on.'],
  port_forbidden: [starting, 'This user may not use port {port}; choose one above 1023 with --port.'],
  port_taken: [
    starting,
    'Port {port} is taken by another program. End it, or choose another port: --port N (0 takes a free one).',
  ],
  portal_port_taken: [
    starting,
    'WEIR_ADMIN_PORT: port {port} is taken by another program. End it, or choose another port (0 takes a free one).',
  ],
  folder_in_use: [
    starting,
    '{folder} is in use by another `weir start`{pid}. End it, or choose another folder with --data.',
  ],
  folder_not_usable: [starting, '{reason}'],
  manifests_refused: [
    'docs/how-to/install.md#more-engines-manifests',
    'The manifests in {folder} contain mistakes:{problems}',
  ],
  kinds_not_installed: [
    cluster,
    '{server} has no kind Model: install the CRDs first, `kubectl apply -f charts/weir/files/crds`.',
  ],
  cluster_not_read: [cluster, '{server}, namespace {namespace}: {reason}.'],
  cluster_not_found: [cluster, '--kubernetes: {reason}.'],
  upstream_malformed: [oneEngine, '--upstream: {reason}'],
  upstream_key_malformed: [oneEngine, '--upstream-key: expected 1 to 8192 visible characters without spaces.'],
  upstream_not_reached: [oneEngine, '{subject}: {address} cannot be reached: {reason}.'],
  upstream_key_refused: [oneEngine, '{subject}: {address} {reason} (status {status}).'],
  upstream_without_models: [oneEngine, '{subject}: {address} lists no model. Load one there and start again.'],
  upstream_not_understood: [
    oneEngine,
    '{subject}: {reasons}. Expected an engine that speaks the chat completions format.',
  ],
  envoy_not_found: [starting, '{reason}'],
  part_not_ready: [starting, '{reason}'],
  gateway_not_ready: [starting, '{address}: {reason}. The logs contain more.'],
});
