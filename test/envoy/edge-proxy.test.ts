/** Forward proxies and client certificates, as Envoy carries them. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Cluster } from '../../src/core/catalog.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startEnvoy } from './support/envoy.ts';
import { at, clustersOf } from './support/give-clusters.ts';
import { forFile } from '../support/for-file.ts';

// Made for tests: for engine.example, its own authority.
const folder = join(import.meta.dirname, 'support', 'tls');

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
/** What the proxy was asked: the target, and the credentials. */
let asked: (readonly [string | undefined, string | undefined])[] = [];
let refuses = false;
/** The paths and Host headers that the engines received. */
let received: string[] = [];

async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

afterAll(async () => {
  for (const server of [plain, secure, proxy]) {
    server.closeAllConnections();
    server.close();
  }
});
const ca = await readFile(join(folder, 'certificate.pem'), 'utf8');
const key = await readFile(join(folder, 'key.pem'), 'utf8');
const envoy = await forFile(startEnvoy());
const clusters = await forFile(clustersOf(envoy));
const answer = (who: string) => (incoming: IncomingMessage, response: { end: (text: string) => void }) => {
  received.push(`${incoming.headers.host} ${incoming.url}`);
  response.end(who);
};
const plain = createServer(answer('plain'));
const shown = { ca: selfSigned.certificate, requestCert: true, rejectUnauthorized: false };
const secure = createTlsServer({ cert: ca, key, ...shown }, (incoming, response) => {
  received.push(`${incoming.headers.host} ${incoming.url}`);
  const { authorized } = incoming.socket as TLSSocket;
  response.end(authorized ? 'known' : 'stranger');
});
const proxy = createServer().on('connect', (incoming: IncomingMessage, socket) => {
  asked.push([incoming.url, incoming.headers['proxy-authorization']]);
  socket.on('error', () => undefined);
  if (refuses) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
  // The names are the proxy's to resolve: all of them are this machine.
  const upstream = connect(Number(incoming.url?.split(':').at(-1)), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
  return void socket.on('close', () => upstream.destroy());
});
await Promise.all([plain, secure, proxy].map(listen));

beforeEach(() => {
  asked = [];
  received = [];
  refuses = false;
});

/** The answer of an endpoint of a cluster, or why there is none. */
async function call(cluster: string): Promise<string> {
  const [endpoint] = clusters.table.of(cluster);
  const sent = request({
    socketPath: envoy.files.egressSocket,
    agent: false,
    path: '/v1/models?a=b',
    headers: {
      host: endpoint?.authority,
      'x-weir-cluster': cluster,
      'x-weir-endpoint': Buffer.from(endpoint?.name ?? '').toString('base64'),
    },
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await text(response);
  const { 'x-weir-egress-failure': failure, 'x-weir-endpoint': moved } = response.headers;
  if (moved !== undefined) return `moved to ${Buffer.from(String(moved), 'base64').toString()}`;
  return failure === undefined ? body : `failed: ${String(failure)}`;
}

const through = (authorization?: string): Cluster['proxy'] => ({
  host: 'localhost',
  port: portOf(proxy),
  authorization,
});
const behind = (name: string, more: Partial<Cluster>): Cluster => ({
  ...{ name, backend: name, endpoints: at(portOf(plain), 'engine.example') },
  tls: { mode: 'Disabled' },
  proxy: through(),
  ...more,
});
const trusted = (): Cluster['tls'] => ({ mode: 'Custom', serverName: 'engine.example', ca });

describe('a forward proxy', () => {
  it('is asked for the engine by its name, and TLS is between Envoy and the engine', async () => {
    const endpoints = at(portOf(secure), 'engine.example');
    await clusters.give([behind('secure', { endpoints, tls: trusted() })]);
    expect(await call('secure')).toBe('stranger');
    const target = `engine.example:${portOf(secure)}`;
    expect({ asked, received }).toEqual({
      asked: [[target, undefined]],
      received: [`${target} /v1/models?a=b`],
    });
    expect(envoy.log()).toBe('');
  });

  it('gets its credentials, and carries plain HTTP as well', async () => {
    await clusters.give([behind('plain', { proxy: through('Basic dTpw') })]);
    expect(await call('plain')).toBe('plain');
    expect(asked).toEqual([[`engine.example:${portOf(plain)}`, 'Basic dTpw']]);
  });

  it('carries each of several backends, and several endpoints of one', async () => {
    const endpoints = at(portOf(plain), 'a.example', 'b.example');
    await clusters.give([
      behind('one', { proxy: through('Basic b25l') }),
      behind('two', { endpoints, proxy: through('Basic dHdv') }),
    ]);
    expect([await call('one'), await call('two')]).toEqual(['plain', 'plain']);
    expect(asked).toEqual([
      [`engine.example:${portOf(plain)}`, 'Basic b25l'],
      [`a.example:${portOf(plain)}`, 'Basic dHdv'],
    ]);
    expect(clusters.table.of('two').map(({ authority }) => authority)).toEqual(
      ['a.example', 'b.example'].map((host) => `${host}:${portOf(plain)}`),
    );
  });

  it('that refuses is a failure before the answer', async () => {
    refuses = true;
    await clusters.give([behind('refused', {})]);
    expect(await call('refused')).toMatch(/^failed: U/);
  });

  it('is not asked for a backend without one', async () => {
    await clusters.give([behind('direct', { endpoints: at(portOf(plain), '127.0.0.1'), proxy: undefined })]);
    expect(await call('direct')).toBe('plain');
    expect(asked).toEqual([]);
  });
});

describe('a client certificate', () => {
  const cluster = (name: string, client: typeof selfSigned | undefined): Cluster => ({
    ...{ name, backend: name, endpoints: at(portOf(secure), '127.0.0.1'), host: 'llm.example' },
    tls: { mode: 'Custom', serverName: 'engine.example', ca, client },
  });

  it('is shown to the engine, and without one the caller is a stranger', async () => {
    await clusters.give([cluster('with', selfSigned), cluster('without', undefined)]);
    expect([await call('with'), await call('without')]).toEqual(['known', 'stranger']);
    expect(received).toEqual(['llm.example /v1/models?a=b', 'llm.example /v1/models?a=b']);
  });
});
