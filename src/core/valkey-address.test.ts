import { describe, expect, it } from 'vitest';
import { readValkeyAddress } from './valkey-address.ts';

const plain = { kind: 'cluster', login: { username: '', password: '' }, isEncrypted: false };
const [a, b] = [
  { host: 'a', port: 6379 },
  { host: 'b', port: 7000 },
];

describe('the address of Valkey', () => {
  it.each([['redis://a'], ['valkeys://user:secret@a:7000/2'], ['/run/valkey.sock']])('%s is of one server', (text) => {
    expect(readValkeyAddress(text)).toEqual({ kind: 'server', url: text });
  });

  it.each([
    ['redis://a,redis://b:7000', { ...plain, servers: [a, b] }],
    [' valkey://a , valkey://b:7000/0 ', { ...plain, servers: [a, b] }],
    ['redis://a?cluster', { ...plain, servers: [a] }],
    ['redis://[::1]:7000,redis://a', { ...plain, servers: [{ host: '::1', port: 7000 }, a] }],
    [
      'rediss://me:s%2Cecret@a,rediss://b:7000',
      { ...plain, login: { username: 'me', password: 's,ecret' }, isEncrypted: true, servers: [a, b] },
    ],
  ])('%s is of a cluster', (text, address) => {
    expect(readValkeyAddress(text)).toEqual(address);
  });

  it.each([
    ['a:6379'],
    ['redis://a,b:7000'],
    ['redis://a,'],
    // A cluster has one database.
    ['redis://a/2,redis://b/2'],
    ['redis://a,rediss://b'],
    ['http://a'],
  ])('%s is none', (text) => {
    expect(readValkeyAddress(text)).toBeUndefined();
  });
});
