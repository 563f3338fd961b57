import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { adminToken, asBrowser, memberOf, samplePortal, withToken } from '../../test/support/sample-portal.ts';
import { createEventHub } from './event-hub.ts';

const api = '/api/v1';

async function listening(options: Parameters<typeof samplePortal>[1] = {}): Promise<{
  readonly server: FastifyInstance;
  readonly port: number;
}> {
  const { server } = await samplePortal({}, options);
  await server.listen({ host: '127.0.0.1', port: 0 });
  return { server, port: (server.server.address() as AddressInfo).port };
}

function dial(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Whether the server hangs up on a connection at once. */
async function isRefused(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('close', () => resolve(true));
  socket.once('data', () => resolve(false));
  socket.write('GET /livez HTTP/1.1\r\nhost: portal\r\n\r\n');
  return promise;
}

describe('what strangers send', () => {
  it('a body that holds too many values or nests too deeply is refused before it is parsed', async () => {
    const { server } = await samplePortal();
    const post = (url: string, payload: string) =>
      server.inject({ method: 'POST', url, payload, headers: { ...withToken, 'content-type': 'application/json' } });
    for (const bomb of ['['.repeat(4_000), `{"a":${'['.repeat(21)}`, `[${'1,'.repeat(1_500)}1]`]) {
      const { statusCode, body } = await post(`${api}/session`, bomb);
      expect([400, 413]).toContain(statusCode);
      expect(JSON.parse(body)).toMatchObject({ error: { type: 'invalid_request_error' } });
    }
    const { statusCode, body } = await post(`${api}/workspaces`, `[${'1,'.repeat(6_000)}1]`);
    expect([statusCode, JSON.parse(body).error.message]).toEqual([
      400,
      'The body contains more than 5000 values, or nests them too deeply.',
    ]);
  });

  it('a sign-in may have four kilobytes, and everything else sixty-four', async () => {
    const { server } = await samplePortal();
    const post = (url: string, bytes: number) =>
      server.inject({ method: 'POST', url, payload: { token: 'x'.repeat(bytes) }, headers: withToken });
    expect((await post(`${api}/session`, 4_000)).statusCode).toBe(400);
    expect((await post(`${api}/session`, 4_100)).statusCode).toBe(413);
    expect((await post(`${api}/workspaces`, 60_000)).statusCode).toBe(400);
    expect((await post(`${api}/workspaces`, 70_000)).statusCode).toBe(413);
  });

  it.each(['//', '/../x', '/%2e%2e/x', '/assets/%00', '/%zz', '/a\\b', '/api/v1/%zz', '/x//y', '/%00'])(
    '%s is no path, in the envelope of errors',
    async (path) => {
      const { server, port } = await listening();
      const { promise, resolve } = Promise.withResolvers<{
        readonly status: number | undefined;
        readonly text: string;
      }>();
      // Clients clean such paths: this one sends them as they are.
      const sent = httpRequest({ port, host: '127.0.0.1', path }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve({ status: response.statusCode, text }));
      });
      sent.end();
      const { status, text } = await promise;
      expect(status).toBe(404);
      expect(JSON.parse(text)).toEqual({
        error: {
          message: 'There is no such path. /api/openapi.json lists those of the API.',
          type: 'invalid_request_error',
          code: 'path_not_found',
        },
      });
      await server.close();
    },
  );

  it.each([
    '/requests?workspace=%00',
    '/requests?model=a%00',
    '/workspaces/a%00b',
    '/keys/%00',
    '/requests/%00',
    '/audit?object=%00',
  ])('%s, with a NUL that PostgreSQL takes in no text, is refused', async (path) => {
    const { server } = await samplePortal();
    const answer = await server.inject({ url: `${api}${path}`, headers: withToken });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: { type: 'invalid_request_error' } }]);
  });

  it('a budget that no workspace can hold is refused with the field', async () => {
    const { server } = await samplePortal();
    const payload = { budget: { limit: '9223373', period: 'month' } };
    const answer = await server.inject({
      method: 'POST',
      url: `${api}/workspaces/acme/keys`,
      payload,
      headers: withToken,
    });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: { field: 'budget.limit' } }]);
  });

  it.each([
    ['half of a character', { name: 'a\ud800b' }, 'name'],
    ['a day that is not in the calendar', { expires_at: '2027-02-31' }, 'expires_at'],
  ])('%s is refused with the field', async (_, payload, field) => {
    const { server } = await samplePortal();
    const answer = await server.inject({
      method: 'POST',
      url: `${api}/workspaces/acme/keys`,
      payload,
      headers: withToken,
    });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: { field } }]);
  });
});

describe('connections', () => {
  it('a body that never ends is hung up on', async () => {
    const { server } = await samplePortal();
    expect(server.server.requestTimeout).toBe(20_000);
    expect(server.server.headersTimeout).toBe(10_000);
    // The same server with shorter limits: a test does not wait for twenty seconds.
    Object.assign(server.server, { requestTimeout: 200, headersTimeout: 100 });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const { port } = server.server.address() as AddressInfo;
    for (const head of [
      'POST /api/v1/session HTTP/1.1\r\nhost: x\r\n',
      'POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    ]) {
      const socket = dial(port);
      let text = '';
      socket.on('data', (bytes) => (text += String(bytes)));
      socket.write(head);
      await once(socket, 'close');
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
    }
    await server.close();
  });

  it('of one address are bounded, and counted in the metrics; other addresses are served', async () => {
    const { server, port } = await listening();
    const sockets = Array.from({ length: 500 }, () => dial(port));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect(await isRefused(dial(port))).toBe(true);
    const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.9' });
    onTestFinished(() => void other.destroy());
    expect(await isRefused(other)).toBe(false);
    const metrics = (await server.inject({ url: '/metrics', headers: withToken })).body;
    expect(metrics).toContain('weir_portal_connections 501');
    expect(metrics).toContain('weir_portal_connections_refused_total{limit="address"} 1');
    sockets[0]?.destroy();
    await expect.poll(() => isRefused(dial(port))).toBe(false);
    await server.close();
  });

  it('of a trusted proxy are not bounded by address: all of its callers come from there', async () => {
    const { server, port } = await listening({ hops: 1 });
    const sockets = Array.from({ length: 500 }, () => dial(port));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect(await isRefused(dial(port))).toBe(false);
    await server.close();
  });

  it('of a trusted proxy carry at most 500 requests of one caller, and others are served', async () => {
    const { server, port } = await listening({ hops: 1 });
    const head = (address: string): string => `host: portal\r\nx-forwarded-for: ${address}\r\n`;
    const endless = (address: string): string =>
      `POST ${api}/session HTTP/1.1\r\n${head(address)}content-type: application/json\r\ncontent-length: 99\r\n\r\n{`;
    const asked = async (address: string): Promise<string> => {
      const socket = dial(port);
      socket.write(`GET /livez HTTP/1.1\r\n${head(address)}connection: close\r\n\r\n`);
      let text = '';
      socket.on('data', (bytes) => (text += String(bytes)));
      await once(socket, 'close');
      return text;
    };
    const held = Array.from({ length: 500 }, () => dial(port));
    for (const socket of held) socket.write(endless('203.0.113.9'));
    await expect
      .poll(() => asked('203.0.113.9'))
      .toMatch(/^HTTP\/1\.1 429 [^]*Too many in-flight requests of this address/);
    expect(await asked('203.0.113.10')).toMatch(/^HTTP\/1\.1 200 /);
    // A body that goes on after the refusal keeps no connection.
    const surplus = dial(port).resume();
    surplus.write(endless('203.0.113.9'));
    await once(surplus, 'close');
    const { body: metrics } = await server.inject({ url: '/metrics', headers: withToken });
    expect(metrics).toMatch(/weir_portal_connections_refused_total\{limit="address"\} [1-9]/);
    for (const socket of held) socket.destroy();
    await expect.poll(() => asked('203.0.113.9')).toMatch(/^HTTP\/1\.1 200 /);
    await server.close();
  });

  it('that bypass the proxy take no requests from the address that they name', async () => {
    const { server, port } = await listening({ hops: 1 });
    const statusFrom = async (localAddress: string): Promise<string> => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      socket.write('GET /livez HTTP/1.1\r\nhost: portal\r\nx-forwarded-for: 203.0.113.9\r\nconnection: close\r\n\r\n');
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      return String(bytes).slice(0, 'HTTP/1.1 200'.length);
    };
    const held = Array.from({ length: 500 }, () => dial(port));
    for (const socket of held) {
      socket.write(`POST ${api}/session HTTP/1.1\r\nhost: portal\r\nx-forwarded-for: 203.0.113.9\r\n`);
      socket.write('content-type: application/json\r\ncontent-length: 99\r\n\r\n{');
    }
    await expect.poll(() => statusFrom('127.0.0.1')).toBe('HTTP/1.1 429');
    expect(await statusFrom('127.0.0.9')).toBe('HTTP/1.1 200');
    for (const socket of held) socket.destroy();
    await server.close();
  });

  it.each([
    [0, 1],
    [1, 0],
  ])('with %i trusted hops a proxy in front is logged %i times', async (hops, times) => {
    const { server, logged } = await samplePortal({}, { hops });
    for (let count = 0; count < 3; count += 1) {
      await server.inject({ url: '/livez', headers: { 'x-forwarded-for': '203.0.113.9' } });
    }
    expect(logged).toHaveLength(times);
    if (times > 0) expect(logged).toMatchObject([{ setting: 'WEIR_ADMIN_TRUSTED_HOPS' }]);
  });

  it('metrics are for tokens alone, and each wrong one counts as a failed sign-in', async () => {
    const { server } = await samplePortal();
    const statusOf = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await server.inject({ url: '/metrics', headers })).statusCode;
    expect(await statusOf({})).toBe(401);
    const wrong = { authorization: `Bearer ${adminToken}x` };
    const statuses: number[] = [];
    for (let tried = 0; tried < 32; tried += 1) statuses.push(await statusOf(wrong));
    expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
    expect(await statusOf(withToken)).toBe(200);
  });

  it('probes without end share a read of the database', async () => {
    const { server, accounts } = await samplePortal();
    const read = vi.spyOn(accounts, 'sharedSecret');
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async () => (await server.inject({ url: '/readyz' })).statusCode),
    );
    expect(statuses).toEqual(Array(30).fill(200));
    expect(read.mock.calls.length).toBeLessThan(10);
  });
});

describe('streams of events', () => {
  it('HEAD opens none', async () => {
    const sample = await samplePortal();
    for (let count = 0; count < 3; count += 1) {
      const { statusCode } = await sample.server.inject({ method: 'HEAD', url: `${api}/events`, headers: withToken });
      expect(statusCode).toBe(404);
    }
    const metrics = (await sample.server.inject({ url: '/metrics', headers: withToken })).body;
    expect(metrics).toContain('weir_portal_event_readers 0');
  });

  it('of a session are eight, of a person thirty-two: another one ends the oldest, with the reason', async () => {
    const hub = createEventHub(createFakeClock());
    onTestFinished(hub.close);
    const open = (person: string, sessionHash: string | undefined) => {
      let text = '';
      const stream = hub.open(
        { person, sessionHash, expiresAt: undefined, allow: (event) => event, renew: () => undefined },
        [],
      );
      stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      return { text: () => text, stream };
    };
    const neighbour = open('bob', 'bob-1');
    const tabs = Array.from({ length: 9 }, () => open('alice', 'alice-1'));
    expect(hub.readers()).toBe(1 + 8);
    await expect.poll(tabs[0]?.text ?? (() => '')).toContain('"kind":"replaced"');
    expect(tabs[1]?.text()).not.toContain('ended');
    for (let session = 2; session < 8; session += 1)
      for (let tab = 0; tab < 8; tab += 1) open('alice', `alice-${session}`);
    expect(hub.readers()).toBe(1 + 32);
    expect(neighbour.text()).not.toContain('ended');
    // A token has no session: its holder is one person.
    for (let count = 0; count < 40; count += 1) open('script', undefined);
    expect(hub.readers()).toBe(1 + 32 + 32);
  });

  it.each([
    ['another person of the same name has', 'eve', 1 + 32],
    ['the person has in other sessions', 'ada', 32],
  ])('are counted by the proven person: those that %s', async (_, subject, expected) => {
    const sample = await samplePortal();
    const open = async (who: string): Promise<void> => {
      // Every member of the sample has the same name.
      const headers = asBrowser(await memberOf(sample, sample.workspace.id, { subject: who }));
      const reply = await sample.server.inject({ url: `${api}/events`, headers, payloadAsStream: true });
      onTestFinished(() => void reply.stream().destroy());
    };
    await open('ada');
    for (let count = 0; count < 33; count += 1) await open(subject);
    expect(sample.portal.events.readers()).toBe(expected);
  });
});
