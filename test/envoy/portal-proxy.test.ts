import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { startPlainEnvoy } from '../../bench/plain-envoy.ts';
import { findEnvoy } from '../../src/programs/local/find-envoy.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startPortalProcess } from './support/hostile-portal/portal-process.ts';
import { forFile } from '../support/for-file.ts';

// A real proxy that ends TLS in front of a portal: what docs/how-to/portal.md, "TLS and a proxy in front", says.

afterAll(() => rmSync(folder, { recursive: true, force: true }));
const folder = mkdtempSync(join(tmpdir(), 'weir-portal-proxy-'));
const portal = await forFile(startPortalProcess(1, { WEIR_ADMIN_TRUSTED_HOPS: '1' }));
const proxy = await forFile(
  startPlainEnvoy({
    ...{ binary: await findEnvoy({ env: process.env, report: () => undefined }), folder },
    ...{ upstreamPorts: [portal.target.port], concurrency: 1, tls: selfSigned },
  }),
);

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Asks through the proxy, from an address of its own. */
async function ask(
  path: string,
  options: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: object;
    readonly from?: string;
  } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body, from = '127.0.0.1' } = options;
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = request({
    ...{ host: '127.0.0.1', port: proxy.port, path, method, ca: selfSigned.certificate, agent: false },
    ...{ localAddress: from, headers: { ...json, ...headers } },
  });
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += String(piece);
  return { status: response.statusCode, headers: response.headers, text };
}

const signIn = (token: string, from?: string): Promise<Answer> =>
  ask('/api/v1/session', { method: 'POST', body: { token }, ...(from === undefined ? {} : { from }) });

describe('a portal behind a proxy with TLS', () => {
  it('gives a cookie for TLS and this host alone, and takes it back with the token against forgery', async () => {
    const signedIn = await signIn(portal.target.adminToken);
    const [cookie = ''] = signedIn.headers['set-cookie'] ?? [];
    expect([signedIn.status, cookie.replace(/=[^;]+/, '=x')]).toEqual([
      201,
      '__Host-weir_session=x; Max-Age=43200; Path=/; HttpOnly; Secure; SameSite=Strict',
    ]);
    const { csrf_token: csrf } = JSON.parse(signedIn.text) as Record<string, string>;
    const session = { cookie: cookie.split(';')[0] ?? '' };
    expect((await ask('/api/v1/session', { headers: session })).status).toBe(200);
    const make = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
      ask('/api/v1/workspaces', { method: 'POST', body: { name: 'made' }, headers: { ...session, ...headers } });
    // A page of another site has the cookie's browser, and not the token.
    expect((await make({ origin: 'https://elsewhere.example' })).status).toBe(403);
    expect((await make({ 'x-csrf-token': csrf ?? '' })).status).toBe(201);
  });

  it('counts failed sign-ins by the callers, whatever they claim to be', async () => {
    const [attacker, other] = ['127.0.2.1', '127.0.2.2'];
    const wrong = async (from: string): Promise<number | undefined> =>
      (
        await ask('/api/v1/session', {
          ...{ method: 'POST', body: { token: 'wrong' }, from },
          headers: { 'x-forwarded-for': `203.0.113.${Math.floor(Math.random() * 250)}` },
        })
      ).status;
    for (let count = 0; count < 30; count += 1) expect(await wrong(attacker)).toBe(401);
    expect(await wrong(attacker)).toBe(429);
    expect(await wrong(other)).toBe(401);
    expect((await signIn(portal.target.adminToken, attacker)).status).toBe(201);
  });

  it('lets one caller hold 500 bodies that never end, and serves the others', async () => {
    const [attacker, other] = ['127.0.2.3', '127.0.2.4'];
    const head = ['POST /api/v1/session HTTP/1.1', 'host: portal', 'content-type: application/json'];
    const held = Array.from({ length: 520 }, () => {
      const socket = connectTls({
        socket: connect({ host: '127.0.0.1', port: proxy.port, localAddress: attacker }),
        ca: selfSigned.certificate,
        servername: 'localhost',
      });
      socket.on('error', () => undefined);
      socket.write(`${[...head, 'content-length: 99'].join('\r\n')}\r\n\r\n{`);
      return socket;
    });
    onTestFinished(() => {
      for (const socket of held) socket.destroy();
    });
    const refusals = Promise.withResolvers<void>();
    let refused = 0;
    for (const socket of held) {
      socket.on('data', (bytes: Buffer) => {
        if (!bytes.toString('latin1').startsWith('HTTP/1.1 429 ')) return;
        refused += 1;
        if (refused === 20) refusals.resolve();
      });
    }
    await refusals.promise;
    expect((await ask('/api/v1/sign-in', { from: attacker })).status).toBe(429);
    expect((await ask('/api/v1/sign-in', { from: other })).status).toBe(200);
  });

  it('sends live events on at once, also where a proxy speaks HTTP/1.0 to it', async () => {
    const { cookie } = portal.target.neighbours[0] ?? { cookie: '' };
    const secure = { cookie: cookie.replace('weir_session', '__Host-weir_session') };
    const sent = request({
      ...{ host: '127.0.0.1', port: proxy.port, path: '/api/v1/events', ca: selfSigned.certificate, agent: false },
      headers: secure,
    });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect([response.statusCode, response.headers['x-accel-buffering']]).toEqual([200, 'no']);
    const [first] = (await once(response, 'data')) as [Buffer];
    expect(first.toString()).toContain('retry: 2000');
    response.on('error', () => undefined);
    sent.destroy();

    // nginx does so unless it is configured otherwise.
    const old = connect(portal.target.port, '127.0.0.1');
    onTestFinished(() => void old.destroy());
    let text = '';
    old.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
    const lines = ['GET /api/v1/events HTTP/1.0', 'host: portal', 'connection: close', 'x-forwarded-proto: https'];
    old.write(`${[...lines, 'x-forwarded-for: 127.0.2.5', `cookie: ${secure.cookie}`].join('\r\n')}\r\n\r\n`);
    await expect.poll(() => text).toContain('event: balance');
    expect(text).not.toMatch(/transfer-encoding/i);
  });
});
