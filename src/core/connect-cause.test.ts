import { describe, expect, it } from 'vitest';
import { causeOfError, connectCause } from './connect-cause.ts';

const early = 'upstream_reset_before_response_started';
const verify = 'TLS_error:|268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED';

describe('the cause of a connection that Envoy could not make', () => {
  it.each([
    [
      `${early}{remote_connection_failure|delayed_connect_error:_Connection_refused} delayed connect error: Connection refused`,
      'connection-refused',
    ],
    [`${early}{remote_connection_failure|immediate_connect_error:_Network_is_unreachable} -`, 'no-route'],
    [`${early}{remote_connection_failure|delayed_connect_error:_No_route_to_host} -`, 'no-route'],
    [`${early}{connection_timeout} -`, 'connect-timeout'],
    [`${early}{remote_connection_failure|delayed_connect_error:_Connection_timed_out} -`, 'connect-timeout'],
    [
      `${early} ${verify}:verify cert failed: X509_verify_cert: certificate verification error at depth 0: certificate has expired:TLS_error_end`,
      'certificate-expired',
    ],
    [`${early} ${verify}:verify cert failed: certificate is not yet valid:TLS_error_end`, 'certificate-expired'],
    [
      `${early} ${verify}:verify cert failed: unable to get local issuer certificate:TLS_error_end`,
      'certificate-unknown-authority',
    ],
    [
      `${early} ${verify}:verify cert failed: self-signed certificate in certificate chain:TLS_error_end`,
      'certificate-unknown-authority',
    ],
    [`${early} ${verify}:verify cert failed: verify SAN list:TLS_error_end`, 'certificate-other-name'],
    [`${early} ${verify}:verify cert failed: SAN matcher:TLS_error_end`, 'certificate-other-name'],
    [`${early} TLS_error:|268435703:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER:TLS_error_end`, 'no-tls'],
    [
      `${early} TLS_error:|268436496:SSL routines:OPENSSL_internal:SSLV3_ALERT_HANDSHAKE_FAILURE:TLS_error_end`,
      'tls-failed',
    ],
    [
      `${early} TLS_error:|268436504:SSL routines:OPENSSL_internal:TLSV1_ALERT_PROTOCOL_VERSION:TLS_error_end`,
      'tls-failed',
    ],
    [
      `${early} TLS_error:|268436530:SSL routines:OPENSSL_internal:TLSV1_ALERT_CERTIFICATE_REQUIRED:TLS_error_end`,
      'certificate-required',
    ],
    ['no_healthy_upstream -', undefined],
    ['-', undefined],
    [undefined, undefined],
  ])('%s', (detail, cause) => {
    expect(connectCause(detail)).toBe(cause);
  });
});

describe('the cause of an error of Node', () => {
  const coded = (code: string, message = ''): Error => Object.assign(new Error(message), { code });

  it.each([
    [coded('ECONNREFUSED'), 'connection-refused'],
    [coded('ENOTFOUND'), 'no-such-host'],
    [new AggregateError([coded('EHOSTUNREACH')]), 'no-route'],
    [new TypeError('fetch failed', { cause: coded('CERT_HAS_EXPIRED') }), 'certificate-expired'],
    [coded('ERR_SSL_SOMETHING_ELSE'), 'tls-failed'],
    [coded('HPE_INVALID_CONSTANT'), 'unreadable'],
    [new Error('what?'), 'connect-failed'],
    ['a text', 'connect-failed'],
  ])('%o', (error, cause) => {
    expect(causeOfError(error)).toBe(cause);
  });
});
