import { join, resolve } from 'node:path';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { databaseLocation } from '../../books/databases/database-location.ts';
import { messageOf } from '../../core/failure.ts';
import { type Environment, readStartSettings } from '../../process/settings/read-settings.ts';
import { settingsHelp } from '../../process/settings/settings-help.ts';
import { envoySettingsSchema, type StartSettings, startSettingsSchema } from '../../process/settings/settings.ts';
import { readFlags } from '../command-line/flags.ts';
import type { StartSource } from '../local/catalog-place.ts';
import type { UpstreamPrice } from '../local/upstream-manifests.ts';

export interface StartOptions {
  readonly port: number;
  /** Absolute path. */
  readonly data: string;
  /** The database of WEIR_DATABASE_URL, else a file in the data folder. */
  readonly database: DatabaseLocation;
  /** Whether a demo workspace and key are made. */
  readonly demo: boolean;
  /** The option ` --data DIR` for other commands. Empty for the default, and if the environment names the database. */
  readonly dataFlag: string;
  readonly source: StartSource;
  /** How long the service and Envoy may take to answer the supervisor before they are ended; 0: no limit. */
  readonly silenceMs: number;
  /** Number of services behind the one Envoy. */
  readonly replicas: number;
  /** Whether the portal runs, too. */
  readonly portal: boolean;
  readonly settings: StartSettings;
}

const maxReplicas = 64;
const usualData = '.weir';

const { WEIR_OPS_PORT, WEIR_WATCHDOG_SECONDS, WEIR_UPSTREAM_KEY } = startSettingsSchema.shape;
const ownSettings = envoySettingsSchema.extend({ WEIR_OPS_PORT, WEIR_WATCHDOG_SECONDS, WEIR_UPSTREAM_KEY });

export const startHelp = `Usage: weir start [options]     (npm start -- [options])

Starts the gateway on this machine: Envoy, the service and, by default, the portal and a demo engine.

  --manifests DIR         serve the Backends and Models in this folder, and watch it
  --kubernetes            serve the Backends and Models in the cluster of KUBECONFIG, and watch it
  --namespace NS          their namespace (default: the current context's)
  --upstream URL          serve every model that this engine lists under /v1/models
  --upstream-key K        its key (or WEIR_UPSTREAM_KEY, which \`ps\` does not show)
  --price PROMPT,COMPLETION   USD per token of the upstream's models, such as 0.0000001,0.0000004 (default 0,0)
  --port N                port for callers, 0 for a free one (default 8080)
  --data DIR              folder for accounts, ledger, journal, logs and sockets (default ${usualData})
  --replicas N            services behind one Envoy, for many cores; 2 or more need WEIR_DATABASE_URL
                          (PostgreSQL) and WEIR_VALKEY_URL (default 1)
  --responses             also serve POST /v1/responses (or WEIR_RESPONSES=stateless)
  --no-demo               no demo engine, demo workspace or demo key
  --no-portal             no portal
  --json                  print a refusal as JSON
  --help                  this text

Settings from the environment; a flag wins over its setting:

  ENVOY_PATH              the Envoy to use (default: the one on PATH, else the pinned one, which is fetched)
${settingsHelp(ownSettings)}

All settings of \`weir serve --help\` and \`weir portal --help\` apply, too. WEIR_DATA is --data, WEIR_MANIFESTS --manifests and
WEIR_KUBERNETES_NAMESPACE --kubernetes with --namespace. \`weir start\` sets WEIR_RUN itself.`;

/** The flags of `weir start`. */
export const flags = {
  manifests: { type: 'string' },
  upstream: { type: 'string' },
  'upstream-key': { type: 'string' },
  price: { type: 'string' },
  port: { type: 'string', default: '8080' },
  data: { type: 'string' },
  replicas: { type: 'string', default: '1' },
  responses: { type: 'boolean', default: false },
  'no-demo': { type: 'boolean', default: false },
  'no-portal': { type: 'boolean', default: false },
  kubernetes: { type: 'boolean', default: false },
  namespace: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/**
 * Reads the command line and the settings. Returns undefined when the help was asked for. Throws a Refusal on a
 * mistake, `setting_malformed` on one in the settings.
 */
export function readStartOptions(argv: readonly string[], env: Environment): StartOptions | undefined {
  const values = readFlags('start', argv, flags);
  if (values.help) return undefined;
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw malformed('--port', 'a number from 0 to 65535', values.port);
  }
  const settings = readSettings(values.responses ? { ...env, WEIR_RESPONSES: 'stateless' } : env);
  // npm runs scripts in the package's folder, but a path is relative to the folder in which the command was typed.
  const typedIn = env['npm_lifecycle_event'] === 'start' ? (env['INIT_CWD'] ?? '.') : '.';
  const { WEIR_DATABASE_URL: url, WEIR_DATA: dataSetting } = settings;
  const given = values.data ?? dataSetting;
  const data = given === undefined ? resolve(usualData) : resolve(typedIn, given);
  return {
    port,
    data,
    database: url === undefined ? { kind: 'sqlite', file: join(data, 'weir.db') } : databaseLocation({ url }),
    dataFlag: given === undefined || url !== undefined ? '' : ` --data '${data}'`,
    demo: !values['no-demo'],
    portal: !values['no-portal'],
    source: readSource(values, { settings, typedIn }),
    replicas: readReplicas(values.replicas, settings),
    silenceMs: settings.WEIR_WATCHDOG_SECONDS * 1000,
    settings,
  };
}

const malformed = (option: string, expected: string, value: string): Error =>
  refusal('option_malformed', { option, expected, value });

function readSettings(env: Environment): StartSettings {
  try {
    return readStartSettings(env);
  } catch (error) {
    throw refusal('setting_malformed', { reason: messageOf(error) }, { cause: error });
  }
}

/** Several services are several replicas: accounts and limits must be where all of them can reach them. */
function readReplicas(text: string, settings: StartSettings): number {
  const replicas = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (replicas < 1 || replicas > maxReplicas) {
    throw malformed('--replicas', `a whole number from 1 to ${maxReplicas}`, text);
  }
  if (replicas === 1) return replicas;
  if (!/^postgres(ql)?:/.test(settings.WEIR_DATABASE_URL ?? '')) {
    throw refusal('replicas_need_postgres', { replicas });
  }
  if (settings.WEIR_VALKEY_URL === undefined) throw refusal('replicas_need_valkey', { replicas });
  return replicas;
}

function readSource(
  values: ReturnType<typeof readFlags<typeof flags>>,
  { settings, typedIn }: { readonly settings: StartSettings; readonly typedIn: string },
): StartSource {
  const { manifests, upstream, kubernetes, namespace } = values;
  const given = Object.entries({ manifests, upstream, kubernetes: kubernetes ? '' : undefined }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`--${name}`]),
  );
  if (given.length > 1) throw refusal('sources_exclusive', { options: given.join(' and ') });
  if (namespace !== undefined && !kubernetes) {
    throw refusal('option_alone', { option: '--namespace', needed: '--kubernetes' });
  }
  if (namespace !== undefined && !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw malformed('--namespace', 'lowercase letters, digits and "-"', namespace);
  }
  if (upstream === undefined && (values.price !== undefined || values['upstream-key'] !== undefined)) {
    const option = values.price === undefined ? '--upstream-key' : '--price';
    throw refusal('option_alone', { option, needed: '--upstream URL' });
  }
  if (kubernetes) return { kind: 'kubernetes', namespace: namespace ?? settings.WEIR_KUBERNETES_NAMESPACE };
  if (manifests !== undefined) return { kind: 'manifests', folder: resolve(typedIn, manifests) };
  if (upstream === undefined) return sourceWithoutFlag(settings, { typedIn, demo: !values['no-demo'] });
  const key = values['upstream-key'] ?? settings.WEIR_UPSTREAM_KEY;
  return {
    kind: 'upstream',
    url: readUrl(upstream),
    price: readPrice(values.price ?? '0,0'),
    key: key === undefined || key === '' ? undefined : checkKey(key),
  };
}

/** Chooses the source from the same settings as `weir serve`. Without these settings it is the demo. */
function sourceWithoutFlag(
  { WEIR_KUBERNETES_NAMESPACE: namespace, WEIR_MANIFESTS: folder }: StartSettings,
  { typedIn, demo }: { readonly typedIn: string; readonly demo: boolean },
): StartSource {
  if (namespace !== undefined) return { kind: 'kubernetes', namespace };
  if (folder !== undefined) return { kind: 'manifests', folder: resolve(typedIn, folder) };
  return demo ? { kind: 'demo' } : { kind: 'empty' };
}

function readUrl(text: string): URL {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw malformed('--upstream', 'an address such as http://127.0.0.1:11434/v1', text);
  }
  if (url.username !== '' || url.password !== '') {
    const reason = 'a name and password in the address are not supported; use --upstream-key.';
    throw refusal('upstream_malformed', { reason });
  }
  return url;
}

function readPrice(text: string): UpstreamPrice {
  const match = /^([0-9](?:\.[0-9]{1,12})?),([0-9](?:\.[0-9]{1,12})?)$/.exec(text);
  const [, prompt, completion] = match ?? [];
  if (prompt === undefined || completion === undefined) {
    const form = 'two amounts in USD per token below 10 with at most 12 decimals, "prompt,completion"';
    throw malformed('--price', `${form}, such as 0.0000001,0.0000004`, text);
  }
  return { prompt, completion };
}

/** Throws a Refusal when a header cannot carry the key. The message must not contain the key. */
function checkKey(key: string): string {
  if (/^[\x21-\x7e]{1,8192}$/.test(key)) return key;
  throw refusal('upstream_key_malformed');
}
