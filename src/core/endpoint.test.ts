import { expect, test } from 'vitest';
import { authorityOf } from './endpoint.ts';

test.each([
  ['another port than the scheme’s', { host: 'a', port: 8000 }, 'http', 'a:8000'],
  ['the port of HTTP', { host: 'a', port: 80 }, 'http', 'a'],
  ['the port of HTTPS under TLS', { host: 'a', port: 443 }, 'https', 'a'],
  ['the port of HTTP under TLS', { host: 'a', port: 80 }, 'https', 'a:80'],
  ['an IPv6 address', { host: '::1', port: 8000 }, 'http', '[::1]:8000'],
] as const)('the Host header for %s', (_about, host, scheme, authority) => {
  expect(authorityOf(host, scheme)).toBe(authority);
});
