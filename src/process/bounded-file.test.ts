import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import type { AccountObject } from '../books/core/declared-account.ts';
import { findAccess } from '../control/kubernetes/access.ts';
import { createKeyFiles } from '../control/manifests/key-files.ts';
import { readManifests } from '../control/manifests/read.ts';
import { readAdminToken } from '../portal/secrets.ts';
import { readTokenizerFolder } from '../gateway/tokenizer/tokenizer-folder.ts';
import { followKeyFile } from '../gateway/web-search/providers/open-search.ts';
import { openKeyRing } from '../gateway/web-search/seal/key-ring.ts';
import { readTlsFiles } from '../programs/command-line/tls-files.ts';
import { maxConfigurationBytes, maxSecretBytes, readBoundedFile, readBoundedFileSync } from './bounded-file.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-bounded-'));
});
afterEach(() => rmSync(dir, { recursive: true }));
const at = (name: string): string => join(dir, name);

const readers = [
  ['readBoundedFile', readBoundedFile],
  ['readBoundedFileSync', async (path: string, max: number) => readBoundedFileSync(path, max)],
] as const;

describe.each(readers)('%s', (_, read) => {
  it('reads a file that is as large as the bound, and an empty one', async () => {
    writeFileSync(at('full'), 'x'.repeat(10_000));
    writeFileSync(at('empty'), '');
    expect(String(await read(at('full'), 10_000))).toBe('x'.repeat(10_000));
    expect(String(await read(at('empty'), 10_000))).toBe('');
  });

  it('reads a Secret through the links of Kubernetes', async () => {
    mkdirSync(at('..2026_11_28'));
    writeFileSync(at('..2026_11_28/token'), 'secret\n');
    symlinkSync('..2026_11_28', at('..data'));
    symlinkSync('..data/token', at('token'));
    expect(String(await read(at('token'), 64))).toBe('secret\n');
  });

  it('refuses a file that is larger by one byte, with its name and the bound', async () => {
    writeFileSync(at('large'), 'x'.repeat(101));
    await expect(read(at('large'), 100)).rejects.toThrow(`${at('large')}: expected at most 100 bytes`);
  });

  it('refuses a file whose reported size is less than what it holds', async () => {
    symlinkSync('/proc/self/maps', at('maps'));
    // The size that the system reports says nothing: without the bound, all of it is read.
    expect(statSync(at('maps')).size).toBe(0);
    expect(readFileSync(at('maps')).length).toBeGreaterThan(100);
    await expect(read(at('maps'), 100)).rejects.toThrow('expected at most 100 bytes');
    expect((await read(at('maps'), maxConfigurationBytes)).length).toBeGreaterThan(100);
  });

  it('refuses a socket, a device and a folder without opening them', async () => {
    const server = createServer().listen(at('socket'));
    await once(server, 'listening');
    symlinkSync('/dev/zero', at('zero'));
    for (const name of ['socket', 'zero', '.'])
      await expect(read(at(name), 100)).rejects.toThrow(`${at(name)}: expected a regular file`);
    server.close();
  });

  it('passes on the error of a file that is not there', async () => {
    await expect(read(at('missing'), 100)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test.each([
  ['an admin token', (path: string) => readAdminToken(path, 'refuse')],
  ['a certificate', (path: string) => readTlsFiles({ WEIR_TLS_CERTIFICATE_FILE: path, WEIR_TLS_KEY_FILE: path })],
  ['the keys of seals', (path: string) => openKeyRing(path, () => 0)],
  ['the key of a search provider', (path: string) => followKeyFile(path)()],
  ['the configuration of a cluster', (path: string) => findAccess({ KUBECONFIG: path })],
] as const)('%s is no endless file, and not larger than its bound', async (_, read) => {
  symlinkSync('/dev/zero', at('endless'));
  writeFileSync(at('large'), '');
  truncateSync(at('large'), maxConfigurationBytes + 1);
  await expect(async () => read(at('endless'))).rejects.toThrow(`${at('endless')}: expected a regular file`);
  await expect(async () => read(at('large'))).rejects.toThrow(`${at('large')}: expected at most`);
});

test('files of a folder are no endless files, and not larger than their bounds', async () => {
  mkdirSync(at('m'));
  symlinkSync('/dev/zero', at('m/tokenizer.json'));
  await expect(readTokenizerFolder(dir, 'm')).rejects.toThrow('m/tokenizer.json: expected a regular file');
  symlinkSync('/dev/zero', at('m/key'));
  const object = { name: 'key' } as AccountObject;
  await expect(createKeyFiles(dir).read(object, 'm')).rejects.toThrow('regular file');
  rmSync(at('m/key'));
  appendFileSync(at('m/key'), 'x'.repeat(maxSecretBytes + 1));
  await expect(createKeyFiles(dir).read(object, 'm')).rejects.toThrow('at most 65536');
  mkdirSync(at('manifests'));
  writeFileSync(at('manifests/a.yaml'), '');
  truncateSync(at('manifests/a.yaml'), maxConfigurationBytes + 1);
  expect((await readManifests(at('manifests'))).problems).toEqual([
    { where: 'a.yaml', field: '', message: `expected at most ${maxConfigurationBytes} bytes, split the file` },
  ]);
});
