import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/sample-database.ts';
import { samplePortal } from '../../test/support/sample-portal.ts';

const index = '<!doctype html><title>Weir</title>';
const script = 'export {};'.repeat(200);

function built(): string {
  const folder = temporaryFolder();
  build(folder);
  return folder;
}

function build(folder: string): void {
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), index);
  writeFileSync(join(folder, 'assets', 'main-a1b2.js'), script);
  writeFileSync(join(folder, 'assets', 'main-a1b2.js.br'), brotliCompressSync(script));
}

it('gives each address of a page the application, and each file its own content', async () => {
  const { server } = await samplePortal({}, { pages: built() });
  for (const url of ['/', '/keys', '/requests/chatcmpl-1?x=1']) {
    const reply = await server.inject(url);
    expect([url, reply.statusCode, reply.body, reply.headers['cache-control']]).toEqual([url, 200, index, 'no-cache']);
    expect(reply.headers['content-security-policy']).toMatch(/^default-src 'none';script-src 'self';style-src 'self';/);
    expect(reply.headers['content-security-policy']).toContain("require-trusted-types-for 'script'");
    expect(reply.headers['content-security-policy']).not.toContain('unsafe');
  }
  const plain = await server.inject('/assets/main-a1b2.js');
  expect([plain.body, plain.headers['cache-control']]).toEqual([script, 'public, max-age=31536000, immutable']);
  const small = await server.inject({ url: '/assets/main-a1b2.js', headers: { 'accept-encoding': 'br' } });
  expect([small.headers['content-encoding'], small.headers['cache-control']]).toEqual([
    ...['br', 'public, max-age=31536000, immutable'],
  ]);
  for (const url of ['/assets/gone.js', '/api/nothing', '/assets/..%2f..%2fetc/passwd']) {
    expect([url, (await server.inject(url)).statusCode]).toEqual([
      url,
      expect.toSatisfy((status: number) => [400, 403, 404].includes(status)),
    ]);
  }
  expect((await server.inject({ method: 'POST', url: '/keys' })).statusCode).toBe(404);
});

it('shows the pages that are built while it runs', async () => {
  const folder = join(temporaryFolder(), 'dist');
  const { server } = await samplePortal({}, { pages: folder });
  for (const url of ['/', '/keys', '/assets/main-a1b2.js']) {
    expect([url, (await server.inject(url)).statusCode]).toEqual([url, url.startsWith('/assets') ? 404 : 503]);
  }
  build(folder);
  for (const url of ['/', '/keys', '/assets/main-a1b2.js']) {
    expect([url, (await server.inject(url)).statusCode]).toEqual([url, 200]);
  }
});

it('says how to build the pages where they are not built, and serves the API', async () => {
  const { server } = await samplePortal();
  const reply = await server.inject('/keys');
  expect([reply.statusCode, reply.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
  expect(reply.body).toContain('npm run build');
  expect((await server.inject('/api/v1/sign-in')).statusCode).toBe(200);
  expect((await server.inject('/livez')).body).toBe('ok\n');
});
