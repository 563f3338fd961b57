import { expect, test } from 'vitest';
import { authorityOf, readAddressPort } from './endpoint.ts';

test.each([
  ['another port than the scheme’s', { host: 'a', port: 8000 }, 'http', 'a:8000'],
  ['the port of HTTP', { host: 'a', port: 80 }, 'http', 'a'],
  ['the port of HTTPS under TLS', { host: 'a', port: 443 }, 'https', 'a'],
  ['the port of HTTP under TLS', { host: 'a', port: 80 }, 'https', 'a:80'],
  ['an IPv6 address', { host: '::1', port: 8000 }, 'http', '[::1]:8000'],
] as const)('the Host header for %s', (_about, host, scheme, authority) => {
  expect(authorityOf(host, scheme)).toBe(authority);
});

test.each([
  ['10.0.0.5:8000', { host: '10.0.0.5', port: 8000 }],
  ['[FD00:0::5]:1', { host: 'fd00::5', port: 1 }],
  ['10.0.0.5', undefined],
  ['10.0.0.5:0', undefined],
  ['10.0.0.5:65536', undefined],
  ['10.0.5:80', undefined],
  ['10.0.0.256:80', undefined],
  ['fd00::5:80', undefined],
  ['[10.0.0.5]:80', undefined],
  ['engine:80', undefined],
  ['', undefined],
])('the address and the port of %j', (text, expected) => {
  expect(readAddressPort(text)).toEqual(expected);
});
