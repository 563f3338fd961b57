import { isIPv4 } from 'node:net';
import { expect, it } from 'vitest';
import { systemLookUp } from './system-look-up.ts';

it('looks names up, without IPv6 for a name that has IPv4', async () => {
  const found = await systemLookUp('localhost');
  expect(found).toContain('127.0.0.1');
  expect(found.filter((address) => !isIPv4(address))).toEqual([]);
});

it('returns no address for a name that has none', async () => {
  expect(await systemLookUp('no-such-name.invalid').catch(() => 'no name server')).toBeOneOf([[], 'no name server']);
});
