import { isIPv4 } from 'node:net';
import { expect, it } from 'vitest';
import { withoutFiles } from '../../../test/support/without-files.ts';
import { systemLookUp } from './system-look-up.ts';

it('looks names up, without IPv6 for a name that has IPv4', async () => {
  const found = await systemLookUp('localhost');
  expect(found).toContain('127.0.0.1');
  expect(found.filter((address) => !isIPv4(address))).toEqual([]);
});

it('returns no address for a name that has none', async () => {
  expect(await systemLookUp('no-such-name.invalid').catch(() => 'no name server')).toBeOneOf([[], 'no name server']);
});

it('rejects if no file is left to ask with, where the system says that the name does not exist', async () => {
  const module = new URL('system-look-up.ts', import.meta.url);
  expect(await withoutFiles("return systemLookUp('localhost');", { systemLookUp: module })).toEqual({
    thrown: 'EMFILE',
  });
  expect(await withoutFiles("return lookup('localhost');", { lookup: 'node:dns/promises' })).toEqual({
    thrown: 'ENOTFOUND',
  });
});
