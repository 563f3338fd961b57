import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import fastify, { type FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/sample-database.ts';
import { samplePortal, withToken } from '../../test/support/sample-portal.ts';

/** Sends a request line as it is: clients and `inject` would correct the path. */
async function rawStatus(server: FastifyInstance, path: string, headers: Readonly<Record<string, string>> = {}) {
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const lines = Object.entries({ host: 'portal', connection: 'close', ...headers }).map((line) => line.join(': '));
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  let text = '';
  for await (const bytes of socket) text += String(bytes);
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
}

async function listening(server: FastifyInstance): Promise<FastifyInstance> {
  onTestFinished(() => server.close());
  await server.listen({ host: '127.0.0.1', port: 0 });
  return server;
}

const ofApi = [
  ...['/api//x', '/api/./x', '/api/\\x', '/api/%5cx', '/api/%2e/x', '/api/..', '/api/../x', '/api/v1//keys'],
  ...['/api/v1/../x', '/api/v1/oidc/callback/../x'],
];
const elsewhere = [
  ...[
    '//',
    '///api/x',
    '/./x',
    '/%',
    '/%ff',
    '/a%00b',
    '/%5c',
    '/assets/%',
    '/assets/..%2f..%2fetc/passwd',
    '/api%2fx',
  ],
  ...['/internal//x', '/internal/log-level%', '/metrics/%00'],
];

describe('an address of a stranger', () => {
  it.each([...ofApi, ...elsewhere, '/api/%', '/api/v1/keys/%ff', '/api/v1/keys/..', `/api/v1/keys/${'x'.repeat(200)}`])(
    'that has no plain path does not exist: %s',
    async (path) => {
      const { server, logged } = await samplePortal();
      expect(await rawStatus(await listening(server), path, withToken)).toBe(404);
      expect(logged).toEqual([]);
    },
  );

  it.each(ofApi)('is an error of the library where nobody has checked it: %s', async (path) => {
    const server = fastify();
    await server.register(fastifyStatic, { root: temporaryFolder() });
    expect(await rawStatus(await listening(server), path)).toBe(403);
  });

  it('is refused for a NUL before a look-up, in the path and in the query', async () => {
    const { server, logged } = await samplePortal();
    await listening(server);
    for (const path of ['/api/%00', '/api/v1/keys/%00', '/api/v1/keys/a%00', '/api/v1/usage?workspace=%00']) {
      expect([path, await rawStatus(server, path, withToken)]).toEqual([path, path === '/api/%00' ? 404 : 400]);
    }
    expect(logged).toEqual([]);
  });
});

describe('other text of a stranger', () => {
  it.each([
    ['a query that cannot be decoded', '/api/v1/workspaces?cursor=%', {}, 200],
    ['a query with a list', '/api/v1/usage?workspace=a&workspace=b', {}, 400],
    ['a cursor of another list', '/api/v1/requests?cursor=AA', {}, 400],
    ['a query with the name of a prototype', '/api/v1/workspaces?__proto__=x', {}, 200],
    ['an id with the name of a prototype', '/api/v1/workspaces/__proto__', {}, 404],
    ['a range beyond a file', '/assets/a.js', { range: 'bytes=99999-' }, 400],
    ['a range beyond a page', '/keys', { range: 'bytes=99999-' }, 400],
    ['a condition on a file', '/assets/a.js', { 'if-match': '"x"' }, 400],
    ['a range that is none', '/assets/a.js', { range: '%' }, 200],
  ])('is at fault itself, or changes nothing: %s', async (_, path, headers, expected) => {
    const pages = temporaryFolder();
    mkdirSync(join(pages, 'assets'));
    for (const file of ['index.html', 'assets/a.js']) writeFileSync(join(pages, file), 'text');
    const { server, logged } = await samplePortal({}, { pages });
    await listening(server);
    expect(await rawStatus(server, path, { ...withToken, ...headers })).toBe(expected);
    expect(logged).toEqual([]);
  });

  it.each(['weir_session=%', 'weir_session=%ff', 'weir_session="', '=', '__proto__=x', 'a=b;;;=;', '%=%'])(
    'is no session: the cookie %s',
    async (cookie) => {
      const { server, logged } = await samplePortal();
      expect(await rawStatus(await listening(server), '/api/v1/session', { cookie })).toBe(401);
      expect(logged).toEqual([]);
    },
  );
});
