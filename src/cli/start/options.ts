import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { DatabaseLocation } from '../../store/open-database.ts';
import { databaseLocation } from '../commands/database-location.ts';
import { messageOf } from '../../core/failure.ts';
import { StartRefusal } from './refusal.ts';

/** Where the catalog comes from, by the command line. */
export type StartSource =
  | { readonly kind: 'demo' }
  | { readonly kind: 'manifests'; readonly folder: string }
  /** A namespace of the cluster that KUBECONFIG names; without one, that of the current context. */
  | { readonly kind: 'kubernetes'; readonly namespace: string | undefined }
  | { readonly kind: 'upstream'; readonly url: URL; readonly key: string | undefined; readonly price: UpstreamPrice }
  /** An empty folder: the operator puts manifests into it while the gateway runs. */
  | { readonly kind: 'empty' };

/** USD per token, decimals as the manifest has them. */
export interface UpstreamPrice {
  readonly prompt: string;
  readonly completion: string;
}

export interface StartOptions {
  readonly port: number;
  /** Absolute path. */
  readonly data: string;
  /** What WEIR_DATABASE_URL names, else a file in the data folder. */
  readonly database: DatabaseLocation;
  /** Whether a demo workspace and key are made. */
  readonly demo: boolean;
  /** ` --data DIR` the way other commands need it; empty for the default, and where the environment names the database. */
  readonly dataFlag: string;
  readonly source: StartSource;
  /** How long the service and Envoy may leave questions without an answer before they are ended; 0: for ever. */
  readonly silenceMs: number;
  /** Services behind the one Envoy. */
  readonly replicas: number;
  /** Whether the portal runs, too. */
  readonly portal: boolean;
}

const mostReplicas = 64;
const usualWatchdogSeconds = 15;

export const startHelp = `Usage: weir start [options]     (npm start -- [options])

Starts the gateway on this machine: Envoy, the service and, unless told otherwise, the portal and a demo engine.

  --manifests DIR         serve the Backends and Models of this folder, and follow its changes
  --kubernetes            serve the Backends and Models of the cluster that KUBECONFIG names, and follow its changes
  --namespace NS          their namespace (default: that of the current context)
  --upstream URL          serve every model that this engine lists under /v1/models
  --upstream-key K        its key (or WEIR_UPSTREAM_KEY, which \`ps\` does not show)
  --price PROMPT,COMPLETION   USD per token of the upstream's models, such as 0.0000001,0.0000004 (default 0,0)
  --port N                port for callers, 0 for a free one (default 8080)
  --data DIR              folder for accounts, ledger, journal, logs and sockets (default .weir)
  --replicas N            services behind the one Envoy, for a machine of many cores; from 2 on with WEIR_DATABASE_URL
                          (PostgreSQL) and WEIR_VALKEY_URL (default 1)
  --no-demo               no demo engine, demo workspace or demo key
  --no-portal             no portal
  --help                  this text

Settings from the environment: ENVOY_PATH (the Envoy to use), WEIR_TLS_CERTIFICATE_FILE and WEIR_TLS_KEY_FILE (PEM;
callers then use https), WEIR_EDGE_HOST (address for callers, default 127.0.0.1; 0.0.0.0 lets other machines call),
WEIR_TRUSTED_HOPS (proxies in front), WEIR_WATCHDOG_SECONDS (a service or an Envoy that has not answered for so long is
ended and started again; default 15, 0: never), and those of \`weir serve --help\`
and \`weir portal --help\`.

SIGUSR2 replaces the services of --replicas one by one; no request is lost.`;

const flags = {
  manifests: { type: 'string' },
  upstream: { type: 'string' },
  'upstream-key': { type: 'string' },
  price: { type: 'string' },
  port: { type: 'string', default: '8080' },
  data: { type: 'string', default: '.weir' },
  replicas: { type: 'string', default: '1' },
  'no-demo': { type: 'boolean', default: false },
  'no-portal': { type: 'boolean', default: false },
  kubernetes: { type: 'boolean', default: false },
  namespace: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Reads the command line. Returns undefined when the help was asked for; throws StartRefusal on a mistake in it. */
export function readStartOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): StartOptions | undefined {
  const values = parse(argv);
  if (values.help) return undefined;
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535) {
    throw new StartRefusal(`--port: expected a number from 0 to 65535, got "${values.port}".`);
  }
  // npm runs scripts in the package's folder, but a path is relative to where it was typed.
  const typedIn = env['npm_lifecycle_event'] === 'start' ? (env['INIT_CWD'] ?? '.') : '.';
  const isDefault = !argv.some((argument) => argument.startsWith('--data'));
  const data = isDefault ? resolve(values.data) : resolve(typedIn, values.data);
  const url = env['WEIR_DATABASE_URL'] ?? '';
  return {
    port,
    data,
    database: url === '' ? { kind: 'sqlite', file: join(data, 'weir.db') } : readDatabase(url),
    dataFlag: isDefault || url !== '' ? '' : ` --data '${data}'`,
    demo: !values['no-demo'],
    portal: !values['no-portal'],
    source: readSource(values, { env, typedIn }),
    replicas: readReplicas(values.replicas, env),
    silenceMs: readWatchdogSeconds(env['WEIR_WATCHDOG_SECONDS'] ?? '') * 1000,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: flags, strict: true, allowPositionals: false }).values;
  } catch (error) {
    const reason = messageOf(error).split(/\.\s/)[0];
    throw new StartRefusal(`${reason}. \`weir start --help\` lists the options.`, { cause: error });
  }
}

/** Several services are several replicas: accounts and limits must be where all of them reach them. */
function readReplicas(text: string, env: Readonly<Record<string, string | undefined>>): number {
  const replicas = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (replicas < 1 || replicas > mostReplicas) {
    throw new StartRefusal(`--replicas: expected a whole number from 1 to ${mostReplicas}, got "${text}".`);
  }
  if (replicas === 1) return replicas;
  if (!/^postgres(ql)?:/.test(env['WEIR_DATABASE_URL'] ?? '')) {
    throw new StartRefusal(
      `WEIR_DATABASE_URL: --replicas ${replicas} needs PostgreSQL, whose accounts all services share. Set it to postgres://USER:PASSWORD@HOST:PORT/NAME, or start one service.`,
    );
  }
  if ((env['WEIR_VALKEY_URL'] ?? '') === '') {
    throw new StartRefusal(
      `WEIR_VALKEY_URL: --replicas ${replicas} needs Valkey or Redis, so that rates, concurrency and reservations hold for all services together. Set it to valkey://HOST:PORT or the path of a Unix socket, or start one service.`,
    );
  }
  return replicas;
}

function readWatchdogSeconds(text: string): number {
  if (text === '') return usualWatchdogSeconds;
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new StartRefusal(`WEIR_WATCHDOG_SECONDS: expected a whole number from 0 to 9999, got "${text}".`);
}

function readSource(
  values: ReturnType<typeof parse>,
  { env, typedIn }: { readonly env: Readonly<Record<string, string | undefined>>; readonly typedIn: string },
): StartSource {
  const { manifests, upstream, kubernetes, namespace } = values;
  const given = Object.entries({ manifests, upstream, kubernetes: kubernetes ? '' : undefined }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`--${name}`]),
  );
  if (given.length > 1) {
    throw new StartRefusal(`${given.join(' and ')} exclude each other: the catalog comes from one of them.`);
  }
  if (namespace !== undefined && !kubernetes) throw new StartRefusal('--namespace goes with --kubernetes only.');
  if (namespace !== undefined && !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new StartRefusal(`--namespace: expected lowercase letters, digits and "-", got "${namespace}".`);
  }
  if (upstream === undefined && (values.price !== undefined || values['upstream-key'] !== undefined)) {
    throw new StartRefusal(`--${values.price === undefined ? 'upstream-key' : 'price'} goes with --upstream URL only.`);
  }
  if (kubernetes) return { kind: 'kubernetes', namespace };
  if (manifests !== undefined) return { kind: 'manifests', folder: resolve(typedIn, manifests) };
  if (upstream === undefined) return values['no-demo'] ? { kind: 'empty' } : { kind: 'demo' };
  const key = values['upstream-key'] ?? env['WEIR_UPSTREAM_KEY'];
  return {
    kind: 'upstream',
    url: readUrl(upstream),
    price: readPrice(values.price ?? '0,0'),
    key: key === undefined || key === '' ? undefined : checkKey(key),
  };
}

function readDatabase(url: string): DatabaseLocation {
  try {
    return databaseLocation({ url });
  } catch (error) {
    throw new StartRefusal(messageOf(error), { cause: error });
  }
}

function readUrl(text: string): URL {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new StartRefusal(`--upstream: expected an address such as http://127.0.0.1:11434/v1, got "${text}".`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new StartRefusal('--upstream: a name and password in the address are not supported; use --upstream-key.');
  }
  return url;
}

function readPrice(text: string): UpstreamPrice {
  const match = /^([0-9](?:\.[0-9]{1,12})?),([0-9](?:\.[0-9]{1,12})?)$/.exec(text);
  const [, prompt, completion] = match ?? [];
  if (prompt === undefined || completion === undefined) {
    throw new StartRefusal(
      `--price: expected two amounts in USD per token below 10 with at most 12 decimals, "prompt,completion", such as 0.0000001,0.0000004; got "${text}".`,
    );
  }
  return { prompt, completion };
}

/** Throws StartRefusal when a header cannot carry the key. The message must not hold the key. */
function checkKey(key: string): string {
  if (/^[\x21-\x7e]{1,8192}$/.test(key)) return key;
  throw new StartRefusal('--upstream-key: expected 1 to 8192 visible characters without spaces.');
}
