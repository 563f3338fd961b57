import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import {
  causeOfStatus,
  dependencies,
  type Dependency,
  dependencyAction,
  type DependencyCause,
  dependencyCauseOf,
  dependencyCauses,
  dependencyFailure,
  dependencySays,
  watchDependencies,
} from './dependency-cause.ts';

const coded = (code: string | number, message = 'words', more: object = {}): Error =>
  Object.assign(new Error(message), { code, ...more });
const postgres = (code: string, message = 'words'): Error =>
  Object.assign(new DatabaseError(message, 0, 'error'), { code });
const sqlite = (errcode: number): Error => coded('ERR_SQLITE_ERROR', 'words', { errcode });
const valkey = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });
const wrapped = (cause: unknown): Error => new Error('Cannot open the database.', { cause });

describe('the cause of a failed call', () => {
  it.each<readonly [string, unknown, DependencyCause]>([
    ['a closed port', coded('ECONNREFUSED'), 'connection-refused'],
    [
      'both addresses of a name',
      new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]),
      'connection-refused',
    ],
    ['a socket that is not there', coded('ENOENT', 'connect ENOENT /run/valkey.sock'), 'connection-refused'],
    ['an unknown host', coded('ENOTFOUND', 'getaddrinfo ENOTFOUND db.example'), 'no-such-host'],
    ['a DNS that fails', coded('EAI_AGAIN'), 'no-such-host'],
    ['a silent address', coded('ETIMEDOUT'), 'connect-timeout'],
    ['a silent address, for pg', new Error('timeout expired'), 'connect-timeout'],
    ['a silent address, for the pool', new Error('timeout exceeded when trying to connect'), 'connect-timeout'],
    ['a host without route', coded('EHOSTUNREACH'), 'no-route'],
    ['fetch', new TypeError('fetch failed', { cause: coded('ECONNREFUSED') }), 'connection-refused'],
    ['fetch, an unknown host', new TypeError('fetch failed', { cause: coded('ENOTFOUND') }), 'no-such-host'],
    ['undici', coded('UND_ERR_CONNECT_TIMEOUT'), 'connect-timeout'],
    ['an expired certificate', coded('CERT_HAS_EXPIRED'), 'certificate-expired'],
    ['an unknown authority', coded('SELF_SIGNED_CERT_IN_CHAIN'), 'certificate-unknown-authority'],
    ['another name', coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'certificate-other-name'],
    ['no client certificate', coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'certificate-required'],
    ['plain text for TLS', coded('ERR_SSL_WRONG_VERSION_NUMBER'), 'no-tls'],
    ['plain text for TLS, in words', coded('EPROTO', 'SSL routines:ssl3_get_record:wrong version number'), 'no-tls'],
    ['PostgreSQL without TLS', new Error('The server does not support SSL connections'), 'no-tls'],
    ['another failure of TLS', coded('EPROTO', 'handshake'), 'tls-failed'],
    ['a cut connection', coded('ECONNRESET'), 'breaks-off'],
    ['a cut connection, for pg', new Error('Connection terminated unexpectedly'), 'breaks-off'],
    ['a silent server, for pg', new Error('Query read timeout'), 'silent'],
    [
      'a silent server, for Valkey',
      new Error("Socket timeout. Expecting data, but didn't receive any in 2000ms."),
      'silent',
    ],
    ['28P01', wrapped(postgres('28P01')), 'credential-refused'],
    ['28000', postgres('28000'), 'not-admitted'],
    ['3D000', postgres('3D000'), 'no-such-database'],
    ['42501', postgres('42501'), 'no-permission'],
    ['42P01', postgres('42P01'), 'statement-refused'],
    ['23505', postgres('23505'), 'statement-refused'],
    ['25006', postgres('25006'), 'read-only'],
    ['a standby', new Error('the server only reads: it is a standby'), 'read-only'],
    ['40P01', postgres('40P01'), 'locked'],
    ['53100', postgres('53100'), 'disk-full'],
    ['53200', postgres('53200'), 'out-of-memory'],
    ['53300', postgres('53300'), 'too-many-connections'],
    ['55P03', postgres('55P03'), 'locked'],
    ['57014', postgres('57014'), 'silent'],
    ['57P01', postgres('57P01'), 'ending'],
    ['57P03', postgres('57P03'), 'loading'],
    ['58030', postgres('58030'), 'server-error'],
    ['XX001', postgres('XX001'), 'damaged'],
    ['a pooler', postgres('08P01', 'unsupported startup parameter: lock_timeout'), 'statement-refused'],
    [
      'a pooler that is full',
      postgres('08P01', 'no more connections allowed (max_client_conn)'),
      'too-many-connections',
    ],
    [
      'no password',
      new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
      'credential-refused',
    ],
    ['SQLite: full', wrapped(sqlite(13)), 'disk-full'],
    ['SQLite: read-only, in detail', sqlite(8 | (5 << 8)), 'read-only'],
    ['SQLite: locked', sqlite(5), 'locked'],
    ['SQLite: damaged', sqlite(11), 'damaged'],
    ['SQLite: not a database', sqlite(26), 'damaged'],
    ['SQLite: cannot open', sqlite(14), 'no-such-database'],
    ['a file without rights', coded('EACCES'), 'no-permission'],
    ['a full disk', coded('ENOSPC'), 'disk-full'],
    ['WRONGPASS', valkey('WRONGPASS invalid username-password pair or user is disabled.'), 'credential-refused'],
    ['NOAUTH', valkey('NOAUTH Authentication required.'), 'credential-refused'],
    ['NOPERM', valkey("NOPERM User weir has no permissions to run the 'evalsha' command"), 'no-permission'],
    [
      'NOPERM in a script',
      valkey("ERR The user executing the script can't access at least one of the keys"),
      'no-permission',
    ],
    ['READONLY', valkey("READONLY You can't write against a read only replica."), 'read-only'],
    ['OOM', valkey("OOM command not allowed when used memory > 'maxmemory'."), 'out-of-memory'],
    ['MISCONF', valkey('MISCONF Valkey is configured to save RDB snapshots'), 'cannot-save'],
    ['LOADING', valkey('LOADING Valkey is loading the dataset in memory'), 'loading'],
    ['CLUSTERDOWN', valkey('CLUSTERDOWN The cluster is down'), 'loading'],
    ['MOVED', valkey('MOVED 3999 127.0.0.1:6381'), 'is-cluster'],
    ['no cluster', valkey('ERR This instance has cluster support disabled'), 'no-cluster'],
    ['maxclients', valkey('ERR max number of clients reached'), 'too-many-connections'],
    ['DENIED', valkey('DENIED Valkey is running in protected mode'), 'not-admitted'],
    ['all of a cluster', coded('x', 'words', { lastNodeError: coded('ECONNREFUSED') }), 'connection-refused'],
    [
      'gRPC: no connection',
      coded(14, 'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:4317'),
      'connection-refused',
    ],
    ['gRPC: no host', coded(14, 'Name resolution failed for target dns:otel.example:4317'), 'no-such-host'],
    ['gRPC: unauthenticated', coded(16), 'credential-refused'],
    ['gRPC: unimplemented', coded(12), 'no-such-path'],
    ['HTTP: 404', coded(404), 'no-such-path'],
    ['OAuth: a page', coded('OAUTH_RESPONSE_IS_NOT_JSON'), 'not-an-api'],
    ['OAuth: another issuer', coded('OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'), 'other-issuer'],
    ['OAuth: a status', coded('OAUTH_RESPONSE_IS_NOT_CONFORM', 'x', { cause: { status: 503 } }), 'server-error'],
    ['no error', 'a text', 'failed'],
    ['nothing that is known', new Error('what?'), 'failed'],
  ])('%s', (_, error, cause) => {
    expect(dependencyCauseOf(error)).toBe(cause);
  });

  it.each([
    [200, undefined],
    [204, undefined],
    [302, 'redirects'],
    [400, 'request-refused'],
    [401, 'credential-refused'],
    [402, 'no-quota'],
    [403, 'credential-refused'],
    [404, 'no-such-path'],
    [429, 'rate-limited'],
    [500, 'server-error'],
    [504, 'silent'],
  ])('HTTP status %d', (status, cause) => {
    expect(causeOfStatus(status)).toBe(cause);
  });

  it('ends with errors that wrap each other', () => {
    const one = new Error('one');
    const other = new Error('other', { cause: one });
    one.cause = other;
    expect(dependencyCauseOf(one)).toBe('failed');
  });
});

describe('a failure', () => {
  it('is a sentence with the words of the program, in one line, and names the setting to correct', () => {
    const failure = dependencyFailure(valkey('WRONGPASS invalid\r\n\u001B[2J pair'));
    expect(dependencySays(failure)).toBe('Refuses the credential (WRONGPASS invalid[2J pair)');
    expect(dependencyAction(failure, 'valkey')).toBe('Correct the password or the key of WEIR_VALKEY_URL');
    const refused = { cause: 'credential-refused' } as const;
    expect(dependencyAction(refused, 'events')).toBe('Give the receiver and WEIR_EVENTS_SECRET_FILE the same secret');
    expect(dependencyAction(refused, 'webhook')).toBe('Give the receiver and WEIR_WEBHOOK_SECRET_FILE the same secret');
    expect(dependencyFailure(new AggregateError([coded('ECONNREFUSED', 'connect')])).reason).toBe('connect');
  });

  it.each(Object.keys(dependencyCauses) as DependencyCause[])('%s: has words and an advice', (cause) => {
    expect(dependencySays({ cause, reason: '' })).toMatch(/^[A-Z][^.]+[^.]$/);
    for (const dependency of Object.keys(dependencies) as Dependency[]) {
      expect(dependencyAction({ cause }, dependency)).toMatch(/^[A-Z](?!.*SETTING).+[^.]$/);
    }
  });

  it('lasts until something succeeds', () => {
    const watch = watchDependencies();
    const { failed, succeeded } = watch.of('webhook');
    watch.of('tracing').succeeded();
    expect(watch.failing()).toEqual([]);
    failed({ cause: 'silent', reason: 'a' });
    failed({ cause: 'server-error', reason: 'b' });
    expect(watch.failing()).toEqual([{ dependency: 'webhook', cause: 'server-error', reason: 'b' }]);
    succeeded();
    expect(watch.failing()).toEqual([]);
  });
});
