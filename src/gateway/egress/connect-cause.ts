import type { Cause } from '../../core/cause.ts';

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
  [/WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL.*http/i, 'no-tls'],
  [/TLS error|SSL routines/i, 'tls-failed'],
  [/connection refused/i, 'connection-refused'],
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

/** Codes of Node, OpenSSL and undici. */
const codes: Readonly<Record<string, Cause>> = {
  ECONNREFUSED: 'connection-refused',
  EHOSTUNREACH: 'no-route',
  ENETUNREACH: 'no-route',
  ETIMEDOUT: 'connect-timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  UND_ERR_HEADERS_TIMEOUT: 'silent',
  UND_ERR_BODY_TIMEOUT: 'silent',
  ECONNRESET: 'breaks-off',
  UND_ERR_SOCKET: 'breaks-off',
  CERT_HAS_EXPIRED: 'certificate-expired',
  CERT_NOT_YET_VALID: 'certificate-expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate-other-name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate-unknown-authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate-unknown-authority',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate-unknown-authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate-unknown-authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate-unknown-authority',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'certificate-required',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no-tls',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'no-tls',
};

/** The cause of a call past Envoy that failed without an answer. */
export function causeOfError(error: unknown): Cause {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = codes[code];
  if (known !== undefined) return known;
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return 'tls-failed';
  return code.startsWith('HPE_') ? 'unreadable' : 'connect-failed';
}
