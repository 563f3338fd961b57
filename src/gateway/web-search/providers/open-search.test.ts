import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { createFakeUpstream } from '../../../../test/support/fake-upstream.ts';
import { followKeyFile, openSearch } from './open-search.ts';

const options = { upstream: createFakeUpstream(), clock: createFakeClock() };

it('makes the cluster of an instance from its URL', async () => {
  const cluster = async (url: string) =>
    (await openSearch({ provider: 'searxng', url: new URL(url) }, options)).cluster;
  expect(await cluster('http://searxng.search.svc:8080/')).toMatchObject({
    ...{ backend: 'web_search', tls: { mode: 'Disabled' } },
    endpoints: { kind: 'hosts', hosts: [{ host: 'searxng.search.svc', port: 8080 }] },
    name: expect.stringMatching(/^web_search-[0-9a-f]{24}$/),
  });
  expect(await cluster('http://find.example')).toMatchObject({ endpoints: { hosts: [{ port: 80 }] } });
  expect(await cluster('https://find.example/x')).toMatchObject({
    endpoints: { hosts: [{ port: 443 }] },
    tls: { mode: 'System', serverName: 'find.example' },
  });
  expect(await cluster('http://[::1]:8080')).toMatchObject({ endpoints: { hosts: [{ host: '::1' }] } });
});

it('reaches a provider with a key by TLS only, and requires the key', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-search-'));
  const keyFile = join(folder, 'key');
  await expect(openSearch({ provider: 'brave', keyFile }, options)).rejects.toThrow(
    /^WEIR_WEB_SEARCH: the key file: ENOENT/,
  );
  await writeFile(keyFile, 'two words');
  await expect(openSearch({ provider: 'tavily', keyFile }, options)).rejects.toThrow(
    'WEIR_WEB_SEARCH: the key file: expected one line with the key',
  );
  await writeFile(keyFile, 'key');
  for (const provider of ['brave', 'tavily'] as const) {
    const { cluster, provider: opened } = await openSearch({ provider, keyFile }, options);
    expect(opened.name).toBe(provider);
    expect(cluster).toMatchObject({ tls: { mode: 'System' }, endpoints: { kind: 'hosts', hosts: [{ port: 443 }] } });
  }
  await rm(folder, { recursive: true });
});

describe('a key file', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-key-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is read without the blanks around the key, and again when it changes', async () => {
    const path = join(folder, 'key');
    const read = followKeyFile(path);
    await expect(read()).rejects.toThrow('ENOENT');
    await writeFile(path, '  one\n');
    expect(await read()).toBe('one');
    await writeFile(path, 'another');
    expect(await read()).toBe('another');
  });

  it('counts as it was while it is away or has no key', async () => {
    const path = join(folder, 'key');
    const read = followKeyFile(path);
    await writeFile(path, 'one');
    await read();
    await writeFile(path, 'two words');
    expect(await read()).toBe('one');
    await rm(path);
    expect(await read()).toBe('one');
  });

  it.each(['', '  \n', 'two words', 'ünicode', 'x'.repeat(5000)])('has no key in %j', async (text) => {
    const path = join(folder, 'key');
    await writeFile(path, text);
    await expect(followKeyFile(path)()).rejects.toThrow('expected one line with the key');
  });
});
