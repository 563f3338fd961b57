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
