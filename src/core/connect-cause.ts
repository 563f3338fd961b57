import { type Cause, causeNamed } from './cause.ts';

/**
 * What Envoy and BoringSSL write about a connection that failed; the first match counts. Underscores in Envoy's details
 * stand for spaces.
 */
const patterns: readonly (readonly [pattern: RegExp, cause: Cause])[] = [
  [/certificate has expired|certificate is not yet valid|CERTIFICATE_EXPIRED/i, 'certificate-expired'],
  [/SAN (?:list|matcher)|verify_san|hostname mismatch|IP address mismatch/i, 'certificate-other-name'],
  [
    /local issuer|self[ -]signed|unknown ca\b|UNKNOWN_CA|authority|CERTIFICATE_VERIFY_FAILED/i,
    'certificate-unknown-authority',
  ],
  [/CERTIFICATE_REQUIRED|BAD_CERTIFICATE|HANDSHAKE_FAILURE_ON_CLIENT_HELLO.*certificate/i, 'certificate-required'],
  [/WRONG.VERSION.NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL.*http/i, 'no-tls'],
  [/TLS error|SSL routines/i, 'tls-failed'],
  [/connection refused/i, 'connection-refused'],
  [/getaddrinfo|no such host|name or service not known|name resolution/i, 'no-such-host'],
  [/connection.timeout|timed out|connect.*timeout/i, 'connect-timeout'],
  [/no route to host|network is unreachable|host is unreachable/i, 'no-route'],
];

/**
 * The cause of a connection that Envoy could not make. `detail`: Envoy's response code details and transport failure
 * reason. Undefined: they name none.
 */
export function connectCause(detail: string | undefined): Cause | undefined {
  if (detail === undefined) return undefined;
  const text = detail.slice(0, 1024).replaceAll('_', ' ');
  return patterns.find(([pattern]) => pattern.test(text) || pattern.test(detail))?.[1];
}

/** Codes of Node, OpenSSL and undici that show each cause. */
const codesOf: Readonly<Partial<Record<Cause, string>>> = {
  'connection-refused': 'ECONNREFUSED',
  'no-such-host': 'ENOTFOUND EAI_AGAIN EAI_NONAME',
  'no-route': 'EHOSTUNREACH EHOSTDOWN ENETUNREACH',
  'connect-timeout': 'ETIMEDOUT UND_ERR_CONNECT_TIMEOUT',
  silent: 'UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT ABORT_ERR',
  'breaks-off': 'ECONNRESET ECONNABORTED EPIPE UND_ERR_SOCKET',
  'certificate-expired': 'CERT_HAS_EXPIRED CERT_NOT_YET_VALID',
  'certificate-other-name': 'ERR_TLS_CERT_ALTNAME_INVALID HOSTNAME_MISMATCH',
  'certificate-unknown-authority':
    'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT CERT_UNTRUSTED INVALID_CA ' +
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_SIGNATURE_FAILURE',
  'certificate-required':
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  'no-tls': 'ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG',
};
const codes: ReadonlyMap<string, Cause> = new Map(
  Object.entries(codesOf).flatMap(([name, list]) => {
    const cause = causeNamed(name);
    return cause === undefined ? [] : list.split(' ').map((code) => [code, cause] as const);
  }),
);

const maxDepth = 8;

/** An error and those that it wraps, the outer ones first: Node and its clients put them into `cause`, `errors` and `lastNodeError`. */
export function errorChain(error: unknown): readonly object[] {
  const found = new Set<object>();
  const add = (one: unknown): void => {
    if (typeof one !== 'object' || one === null || found.size >= maxDepth || found.has(one)) return;
    found.add(one);
    for (const name of ['cause', 'errors', 'lastNodeError']) {
      const inner: unknown = Reflect.get(one, name);
      for (const each of Array.isArray(inner) ? inner : [inner]) add(each);
    }
  };
  add(error);
  return [...found];
}

/** A text or a number in a field of an error; undefined: it has none. */
export function errorField(error: object, name: string): string | undefined {
  const value: unknown = Reflect.get(error, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** The cause of an error about a connection, by the code of the error or of one that it wraps, else by the texts. */
export function connectCauseOfError(error: unknown): Cause | undefined {
  const chain = errorChain(error);
  const known = chain.map((one) => codes.get(errorField(one, 'code') ?? '')).find((cause) => cause !== undefined);
  // Clients that wrap an error in a text name its code there.
  const texts = chain.map((one) => errorField(one, 'message') ?? '');
  return known ?? firstOf(texts, connectCause) ?? firstOf(texts, namedCode) ?? firstOf(chain, byFamily);
}

function namedCode(text: string): Cause | undefined {
  return firstOf(text.slice(0, 1024).match(/\b[A-Z][A-Z_]{4,60}\b/g) ?? [], (word) => codes.get(word));
}

function byFamily(error: object): Cause | undefined {
  const code = errorField(error, 'code') ?? '';
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return 'tls-failed';
  return code.startsWith('HPE_') ? 'unreadable' : undefined;
}

/** The first result that is one. */
export function firstOf<One, Found>(all: readonly One[], find: (one: One) => Found | undefined): Found | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The cause of a call past Envoy that failed without an answer. */
export const causeOfError = (error: unknown): Cause => connectCauseOfError(error) ?? 'connect-failed';
