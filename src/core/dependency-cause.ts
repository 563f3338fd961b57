import { type Cause, type CauseRow, causes } from './cause.ts';
import { connectCauseOfError, errorChain, errorField, firstOf } from './connect-cause.ts';
import { messageOf } from './failure.ts';
import { toOneLine } from './one-line.ts';

/**
 * The programs beside the engines that a gateway depends on, with the settings that name them. Each is an object of
 * problems, of metrics and of the log.
 */
export const dependencies = {
  database: 'WEIR_DATABASE_URL',
  valkey: 'WEIR_VALKEY_URL',
  webhook: 'WEIR_WEBHOOK_URL',
  events: 'WEIR_EVENTS_URL',
  'web-search': 'WEIR_WEB_SEARCH',
  tracing: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  'identity-provider': 'WEIR_OIDC_ISSUER',
  'token-issuer': 'the issuer of an Identity',
} as const;

export type Dependency = keyof typeof dependencies;

/** Receivers verify signatures: what they refuse is the secret that signs, and no password. */
const signedWith: Readonly<Partial<Record<Dependency, string>>> = {
  webhook: 'WEIR_WEBHOOK_SECRET_FILE',
  events: 'WEIR_EVENTS_SECRET_FILE',
};

/** As that of an engine. In `action`, SETTING stands for the setting that names the program. */
type DependencyRow = Pick<CauseRow, 'says' | 'words' | 'action'>;

const asEngine = (cause: Cause, action: string): DependencyRow => ({ ...causes[cause], action });
/** `words`: if `says` has more than six. */
const row = (says: string, action: string, words = says): DependencyRow => ({ says, words, action });

/** Causes by which there is no connection. */
const unreachable = {
  'connection-refused': asEngine('connection-refused', 'Start it, or correct host and port in SETTING'),
  'no-such-host': asEngine('no-such-host', 'Correct the host in SETTING, or the gateway’s DNS'),
  'connect-timeout': asEngine('connect-timeout', 'Check the address in SETTING, and firewalls on the way'),
  'no-route': asEngine('no-route', 'Check the address in SETTING, and the network on the way'),
  'connect-failed': asEngine('connect-failed', 'Check host, port and TLS in SETTING'),
  'certificate-expired': asEngine('certificate-expired', 'Renew its certificate'),
  'certificate-unknown-authority': asEngine(
    'certificate-unknown-authority',
    'Name the authority in NODE_EXTRA_CA_CERTS, or in sslrootcert for PostgreSQL',
  ),
  'certificate-other-name': asEngine('certificate-other-name', 'Put a host of the certificate in SETTING'),
  'certificate-required': asEngine('certificate-required', 'Let it accept clients without a certificate'),
  'no-tls': row(
    'does not speak TLS, which is expected',
    'Turn TLS off in SETTING, or name its port with TLS',
    'speaks no TLS',
  ),
  'tls-expected': row('expects TLS', 'Turn TLS on in SETTING'),
  'tls-failed': asEngine('tls-failed', 'Compare its TLS versions and ciphers with those of Node'),
  'breaks-off': row('closes connections', 'Read its log, and check proxies on the way'),
  silent: row('does not answer in time', 'Check its load, and read its log'),
};

/** Causes by which it refuses the gateway. */
const refusing = {
  'credential-refused': asEngine('credential-refused', 'Correct the password or the key of SETTING'),
  'credential-missing': row(
    'needs a secret whose file cannot be read',
    'Correct the file and its rights',
    'needs a secret it cannot read',
  ),
  'not-admitted': row(
    'does not admit this user or address',
    'Admit the gateway: pg_hba.conf, protected-mode',
    'does not admit the gateway',
  ),
  'no-permission': row(
    'denies a permission',
    'Grant the user of SETTING the permission in the reason; in a database, for all tables',
  ),
  'no-such-database': row('has no such database', 'Create the database, or correct its name in SETTING'),
  'no-such-path': asEngine('no-such-path', 'Correct the path in SETTING'),
  redirects: asEngine('redirects', 'Put the address to which it redirects in SETTING'),
  'not-an-api': asEngine('not-an-api', 'Correct SETTING: a proxy, a login page or another program answers'),
  'other-issuer': row(
    'has another issuer than its setting names',
    'Put its issuer in SETTING, exactly as it reports it',
    'is another issuer than set',
  ),
  'statement-refused': row(
    'refuses a statement',
    'Check that its version and its tables are compatible with this version of Weir',
  ),
  'request-refused': row('refuses the gateway’s requests', 'Check that SETTING names the right program'),
  'is-cluster': row('is a cluster', 'Name it as a cluster in SETTING'),
  'no-cluster': row('is not a cluster', 'Name it as one server in SETTING'),
  'no-quota': asEngine('no-quota', 'Top up the account there, or raise its limit'),
};

/** Causes by which it cannot do its work now. */
const unable = {
  'read-only': row('accepts no writes', 'Name the primary in SETTING, or make it writable'),
  'cannot-save': row(
    'cannot save to its disk, and accepts no writes',
    'Read its log, and check its disk',
    'cannot save to its disk',
  ),
  'disk-full': row('has a full disk', 'Free space on its disk, or enlarge it'),
  'too-many-connections': row('has no connection left', 'Raise its connection limit, or close other connections'),
  'out-of-memory': asEngine('out-of-memory', 'Raise its memory limit, or stop programs that fill the memory'),
  loading: row('is starting', 'Wait until it has started'),
  ending: row('is shutting down', 'Start it again'),
  locked: row('is locked by another program', 'End the program that holds the lock'),
  damaged: row('has damaged data', 'Restore a backup'),
  'rate-limited': asEngine('rate-limited', 'Raise the limit there'),
  'server-error': asEngine('server-error', 'Read its log'),
  unreadable: asEngine('unreadable', 'Check that SETTING names the right program'),
  failed: row('fails for an unclassified reason', 'Read the reason, and its log', 'fails for an unknown reason'),
};

/** Why a program that the gateway depends on fails it: one closed table. */
export const dependencyCauses = { ...unreachable, ...refusing, ...unable };

export type DependencyCause = keyof typeof dependencyCauses;

/** A program that fails, and why. */
export interface DependencyFailure {
  readonly cause: DependencyCause;
  /** Its own words, one line. Contains no credential and nothing of a request. */
  readonly reason: string;
}

export type FailingDependency = DependencyFailure & { readonly dependency: Dependency };

/**
 * The codes that show each cause: SQLSTATE and its classes (https://www.postgresql.org/docs/current/errcodes-appendix.html),
 * primary result codes of SQLite after `sqlite` (https://www.sqlite.org/rescode.html), first words of Valkey's errors, codes
 * of files, statuses of gRPC, and codes of the client of identity providers.
 */
const codesOf: Readonly<Partial<Record<DependencyCause, string>>> = {
  'connection-refused': 'ENOENT',
  'breaks-off': '08 57 UNBLOCKED',
  silent: '57014 BUSY 4 OAUTH_TIMEOUT',
  'credential-refused': '28P01 WRONGPASS NOAUTH 16',
  'not-admitted': '28 DENIED',
  'no-permission': '42501 NOPERM sqlite3 sqlite23 EACCES EPERM 7',
  'no-such-database': '3D sqlite14',
  'no-such-path': '12',
  'not-an-api': 'OAUTH_PARSE_ERROR OAUTH_RESPONSE_IS_NOT_JSON',
  'other-issuer': 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'statement-refused': '0A 22 23 25 3F 42 54',
  'is-cluster': 'MOVED ASK CROSSSLOT',
  'read-only': '25006 READONLY sqlite8 EROFS',
  'cannot-save': 'MISCONF NOREPLICAS',
  'disk-full': '53100 sqlite13 ENOSPC EDQUOT',
  'too-many-connections': '53300 53400',
  'out-of-memory': '53 OOM sqlite7',
  loading: '57P03 LOADING MASTERDOWN CLUSTERDOWN TRYAGAIN',
  ending: '57P01 57P02',
  locked: '40 55P03 sqlite5 sqlite6',
  damaged: 'XX sqlite11 sqlite26',
  'rate-limited': '8',
  'server-error': '58 sqlite10',
  unreadable: 'OAUTH_INVALID_RESPONSE',
};
const byCode = new Map(
  Object.keys(dependencyCauses)
    .filter(isDependencyCause)
    .flatMap((cause) => codesOf[cause]?.split(' ').map((code) => [code, cause] as const) ?? []),
);

/** Texts without a code: of Valkey after `ERR`, of clients and of poolers. The first match counts. */
const texts: readonly (readonly [pattern: RegExp, cause: DependencyCause])[] = [
  [
    /max number of clients|too many (?:clients|connections)|no more connections|connection slots/i,
    'too-many-connections',
  ],
  [
    /password authentication|no password supplied|must be a string|invalid password|SASL|called without any password/i,
    'credential-refused',
  ],
  [/can't (?:run this command|access at least one)|no permissions? to/i, 'no-permission'],
  [/cluster support disabled/i, 'no-cluster'],
  [/only reads|read.only/i, 'read-only'],
  [/no space left|disk (?:is )?full/i, 'disk-full'],
  [/does not support SSL/i, 'no-tls'],
  [/no such database|database .{1,80} does not exist/i, 'no-such-database'],
  [/query read timeout|socket timeout|no answer within|command timed out|statement timeout/i, 'silent'],
  [/timeout (?:expired|exceeded)/i, 'connect-timeout'],
  [/shutting down/i, 'ending'],
  [/unsupported startup parameter/i, 'statement-refused'],
  [/\b(?:terminated|connection is closed|connection ended|other side closed|socket hang up)\b/i, 'breaks-off'],
];

/** The cause of an HTTP status that is no success; undefined: it is one. */
export function causeOfStatus(status: number): DependencyCause | undefined {
  if (status < 300) return undefined;
  if (status < 400) return 'redirects';
  if (status === 401 || status === 403 || status === 407) return 'credential-refused';
  if (status === 402) return 'no-quota';
  if (status === 404 || status === 405 || status === 410) return 'no-such-path';
  if (status === 408 || status === 504) return 'silent';
  if (status === 429) return 'rate-limited';
  return status < 500 ? 'request-refused' : 'server-error';
}

function causeByCode(error: object): DependencyCause | undefined {
  const sqlite = errorField(error, 'errcode');
  if (sqlite !== undefined) return byCode.get(`sqlite${Number(sqlite) & 0xff}`);
  const code = errorField(error, 'code') ?? '-';
  const statuses = [errorField(error, 'status'), errorField(error, 'statusCode'), code].map(Number);
  const status = statuses.find((one) => one >= 300 && one < 600);
  if (status !== undefined) return causeOfStatus(status);
  const isSqlState = /^(?=.*\d)[\dA-Z]{5}$/.test(code);
  // Poolers send 08P01 for everything, and say in words what it is.
  if (isSqlState) return code === '08P01' ? undefined : (byCode.get(code) ?? byCode.get(code.slice(0, 2)));
  const [word = '-'] = /^[A-Z]+(?= )/.exec(errorField(error, 'message') ?? '') ?? [];
  return byCode.get(code) ?? byCode.get(word);
}

function causeByText(error: object): DependencyCause | undefined {
  const text = (errorField(error, 'message') ?? '').slice(0, 1024);
  return texts.find(([pattern]) => pattern.test(text))?.[1];
}

/** Why a program failed, by the error that its client threw, or by those which that error wraps. */
export const dependencyCauseOf = (error: unknown): DependencyCause => knownCauseOf(error) ?? 'failed';

/** The same; undefined: nothing names the cause. */
export function knownCauseOf(error: unknown): DependencyCause | undefined {
  const chain = errorChain(error);
  const found = firstOf(chain, causeByCode) ?? firstOf(chain.toReversed(), causeByText) ?? connectCauseOfError(error);
  return found !== undefined && isDependencyCause(found) ? found : undefined;
}

export function isDependencyCause(name: string): name is DependencyCause {
  return Object.hasOwn(dependencyCauses, name);
}

const maxReason = 300;

/** `cause`: what the caller knows better than the error. */
export function dependencyFailure(error: unknown, cause = dependencyCauseOf(error)): DependencyFailure {
  const words = errorChain(error).map((one) => errorField(one, 'message') ?? '');
  return { cause, reason: toOneLine(words.find((text) => text !== '') ?? messageOf(error), maxReason) };
}

/** The state of a dependency in at most six words, to follow its name: `refuses its key`. */
export const dependencyWords = (cause: DependencyCause): string => dependencyCauses[cause].words;

/** What a program does, as the beginning of a sentence, with its own words: `Refuses the credential (WRONGPASS …)`. */
export function dependencySays({ cause, reason }: DependencyFailure): string {
  const { says } = dependencyCauses[cause];
  return `${says.charAt(0).toUpperCase()}${says.slice(1)}${reason === '' ? '' : ` (${reason})`}`;
}

/** What to do about it. `setting`: the name of the setting, if it is another one than usual. */
export function dependencyAction(
  { cause }: Pick<DependencyFailure, 'cause'>,
  dependency: Dependency,
  setting: string = dependencies[dependency],
): string {
  const secret = signedWith[dependency];
  if (cause === 'credential-refused' && secret !== undefined) return `Give the receiver and ${secret} the same secret`;
  return dependencyCauses[cause].action.replaceAll('SETTING', setting);
}

/** Receives how the calls of a program end. */
export interface DependencyReport {
  readonly succeeded: () => void;
  readonly failed: (failure: DependencyFailure) => void;
}

export type DependencyWatch = ReturnType<typeof watchDependencies>;

/** Remembers which programs fail: from a failure until something succeeds. */
export function watchDependencies() {
  const failures = new Map<Dependency, DependencyFailure>();
  return {
    of: (dependency: Dependency): DependencyReport => ({
      succeeded: () => void failures.delete(dependency),
      failed: (failure) => void failures.set(dependency, failure),
    }),
    failing: (): readonly FailingDependency[] =>
      [...failures].map(([dependency, failure]) => ({ dependency, ...failure })),
  };
}
