import { expect, it } from 'vitest';
import { hostInUrl, isLoopback, listenOrElsewhere, localAddressOf, networkOf } from './address.ts';

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
  ['2001:db8:0:1:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
  ['2001:DB8:0000:0001::', '2001:db8:0:1::/64'],
  ['2001:db8:0:2::1', '2001:db8:0:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
  ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:db8:0:1:2:3:203.0.113.7', '2001:db8:0:1::/64'],
  ['1:2:3::5:6:7:8', '1:2:3:0::/64'],
  ['::5:6:7:8', '0:0:0:0::/64'],
  ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
  ['', ''],
])('%s belongs to %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

it.each([
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::1', true],
  ['[::1]', true],
  ['::ffff:127.0.0.1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['10.0.0.1', false],
  ['::', false],
  ['127.example.com', false],
  ['localhost.example.com', false],
])('%s: whether it is this machine alone', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

it('puts an IPv6 address into brackets', () => {
  expect(['::1', '10.0.0.1', 'a.example'].map(hostInUrl)).toEqual(['[::1]', '10.0.0.1', 'a.example']);
});

it('listens on a free port where another program has the one that was wanted, and rejects with any other error', async () => {
  const ports: number[] = [];
  const failing = (code: string) => async (port: number) => {
    ports.push(port);
    if (port !== 0) throw Object.assign(new Error(code), { code });
  };
  await listenOrElsewhere(9, failing('EADDRINUSE'));
  expect(ports).toEqual([9, 0]);
  await expect(listenOrElsewhere(9, failing('EACCES'))).rejects.toThrow('EACCES');
  expect(ports).toEqual([9, 0, 9]);
});

it.each([
  ['0.0.0.0', '127.0.0.1'],
  ['127.0.0.5', '127.0.0.5'],
  ['::', '[::1]'],
  ['2001:db8::1', '[2001:db8::1]'],
  ['gateway.example', 'gateway.example'],
])('a program that listens on %s is reached at %s', (host, address) => {
  expect(localAddressOf(host)).toBe(address);
});
