import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { allGone, removeStarts, start } from '../support/start.ts';

afterEach(removeStarts);

/** A port that another program has. */
async function takenPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, close: () => server.close() };
}

test('a port of the portal that was asked for and is taken is refused, as that of --port is', async () => {
  const taken = await takenPort();
  const env = { WEIR_ADMIN_PORT: String(taken.port) };
  await expect(start([], { portal: true, env })).rejects.toThrow(`WEIR_ADMIN_PORT: port ${taken.port} is taken`);
  taken.close();
});

test('from the printed address to a request that shows itself: sign in, make a key, call, see it come', async () => {
  const gateway = await start([], { portal: true, env: { WEIR_ADMIN_PORT: '0' } });
  // It starts with its first visitor.
  expect(Object.keys(gateway.processes())).not.toContain('the portal');
  const [, origin = '', token = ''] =
    /^portal:\s+(http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)$/m.exec(gateway.stdout()) ?? [];
  const file = join(gateway.data, 'admin-token');
  expect([readFileSync(file, 'utf8').trim(), statSync(file).mode & 0o777]).toEqual([decodeURIComponent(token), 0o600]);

  const signedIn = await fetch(`${origin}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: decodeURIComponent(token) }),
  });
  expect(signedIn.status).toBe(201);
  const { csrf_token: csrf, gateway_url: gatewayUrl } = (await signedIn.json()) as Record<string, string>;
  expect(gatewayUrl).toBe(gateway.baseUrl);
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
  const headers = { cookie, 'x-csrf-token': csrf ?? '', 'content-type': 'application/json' };
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const reply = await fetch(`${origin}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = (await reply.json()) as Record<string, unknown>;
    expect([path, reply.status], JSON.stringify(answer)).toEqual([path, reply.status < 300 ? reply.status : 200]);
    return answer;
  };
  const get = async (path: string): Promise<{ data: Record<string, unknown>[] } & Record<string, unknown>> =>
    (await (await fetch(`${origin}/api/v1${path}`, { headers })).json()) as never;

  const models = await get('/models');
  expect(models.data).toContainEqual(expect.objectContaining({ id: 'demo/chat', listed: true, state: 'available' }));
  expect((await get('/backends')).data[0]).toMatchObject({ name: expect.any(String), endpoints: { healthy: 1 } });

  const withToken = { authorization: `Bearer ${decodeURIComponent(token)}` };
  const metrics = await (await fetch(`${origin}/metrics`, { headers: withToken })).text();
  expect(metrics).toMatch(/^weir_workspace_available_usd\{workspace="demo"\} \d/m);

  const following = new AbortController();
  const events = await fetch(`${origin}/api/v1/events`, { headers: { cookie }, signal: following.signal });
  let text = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of events.body ?? []) text += decoder.decode(piece, { stream: true });
  })().catch(() => undefined);
  await expect.poll(() => text).toContain('event: health');

  const key = await post('/workspaces/demo/keys', { name: 'mine', budget: { limit: '1', period: 'total' } });
  const answer = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(key['key'])}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo/chat', messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  const { id, usage } = (await answer.json()) as { id: string; usage: { cost: number } };
  expect(answer.status).toBe(200);

  // Without reloading: the request with its cost, and the balance after it.
  await expect.poll(() => text).toContain(`"id":"${id}"`);
  const request = /^event: request\ndata: (.*)$/m.exec(text)?.[1] ?? '{}';
  expect(JSON.parse(request)).toMatchObject({
    id,
    workspace: 'demo',
    key: key['id'],
    model: 'demo/chat',
    outcome: 'completed',
  });
  const detail = await get(`/requests/${id}`);
  expect(detail).toMatchObject({
    request: { id, key: key['id'] },
    story: { id, attempts: [{ end: 'complete', reason: 'first' }] },
  });
  expect(Number((detail['request'] as { cost: string }).cost)).toBeCloseTo(usage.cost, 12);
  expect((await get(`/requests?key=${String(key['id'])}`)).data.map((row) => row['id'])).toEqual([id]);
  expect((await get(`/usage?key=${String(key['id'])}&by=model`)).data).toMatchObject([
    { model: 'demo/chat', requests: 1 },
  ]);

  // The playground streams through the same edge, with a key of its own.
  const workspaces = await get('/workspaces');
  const chat = await fetch(`${origin}/api/v1/playground/chat?workspace=${String(workspaces.data[0]?.['id'])}`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'demo/chat', stream: true, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  expect([chat.status, chat.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/event-stream')]);
  expect((await chat.text()).trimEnd()).toMatch(/data: \[DONE\]$/);
  const keys = await get('/workspaces/demo/keys');
  expect(keys.data.map((row) => row['name'])).toEqual(['mine', null]);
  following.abort();
  await reading;

  // A portal that dies is started again where it was.
  process.kill(gateway.processes()['the portal'] ?? 0, 'SIGKILL');
  await gateway.said(/The portal is back/);
  expect((await fetch(`${origin}/api/v1/session`, { headers })).status).toBe(200);

  const log = readFileSync(join(gateway.data, 'logs', 'portal.log'), 'utf8');
  for (const secret of [decodeURIComponent(token), String(key['key']), cookie.split('=')[1] ?? '?', csrf ?? '?']) {
    expect(log).not.toContain(secret);
  }
  const { code } = await gateway.stop('SIGINT');
  expect(code).toBe(0);
  await allGone(gateway.processes(), 0);
});
