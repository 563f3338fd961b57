import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { provenPortalSession } from '../gateway/core/portal-session.ts';
import { hashKey } from '../books/accounts/key-text.ts';
import { asBrowser, call, memberOf, samplePortal, withToken } from '../../test/support/sample-portal.ts';

/** A gateway that notes what it gets and answers as it is told. */
async function fakeGateway(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: { readonly body: string; readonly key: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      seen.push({ body, key: request.headers.authorization ?? '' });
      answer(request, response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { seen, gatewayUrl: `http://127.0.0.1:${port}/v1` };
}

const body = '{"model":"a/b",  "messages":[{"role":"user","content":"é"}],"unknown":1}';

async function ask(answer: Parameters<typeof fakeGateway>[0]) {
  const gateway = await fakeGateway(answer);
  const sample = await samplePortal({}, { gatewayUrl: gateway.gatewayUrl });
  const url = `/api/v1/playground/chat?workspace=${sample.workspace.id}`;
  const send = () =>
    sample.server.inject({
      method: 'POST',
      url,
      headers: { ...withToken, 'content-type': 'application/json' },
      payload: body,
    });
  return { ...sample, ...gateway, send, url };
}

it('passes body and answer on untouched, with a key of its own whose text lasts an hour and which may spend a dollar a day', async () => {
  const stream = 'data: {"choices":[]}\n\n: comment\n\ndata: [DONE]\n\n';
  const { send, seen, server, accounts, workspace, clock } = await ask((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-secret': 'no' }).end(stream);
  });
  const [first, second] = [await send(), await send()];
  for (const reply of [first, second]) {
    expect([reply.statusCode, reply.headers['content-type'], reply.body]).toEqual([200, 'text/event-stream', stream]);
    expect(reply.headers['x-accel-buffering']).toBe('no');
    expect(reply.headers['x-secret']).toBeUndefined();
  }
  expect(seen.map((one) => one.body)).toEqual([body, body]);
  expect(seen[0]?.key).toMatch(/^Bearer sk-weir-\w{49}$/);
  expect(seen[1]?.key).toBe(seen[0]?.key);
  const keys = await accounts.listKeys(workspace);
  expect(keys.map(({ name, budget, expiresAt }) => [name, budget?.limit, budget?.period, expiresAt])).toContainEqual([
    ...['playground of admin token', 10n ** 12n, 'day', clock.now() + 3_600_000],
  ]);
  // Neither an answer nor the trail has the key.
  const told = JSON.stringify([(await call(server, { url: '/api/v1/audit' })).body, first.headers]);
  expect(told).not.toContain(seen[0]?.key.slice(7));
  clock.advance(3_600_000);
  await send();
  expect(seen[2]?.key).not.toBe(seen[0]?.key);
});

it('passes texts to the surface of embeddings, and the id of the caller to both', async () => {
  const asked: unknown[] = [];
  const { server, workspace } = await ask(({ url, headers }, response) => {
    asked.push([url, headers['x-request-id'] ?? null]);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
  });
  const post = (surface: string, headers: Readonly<Record<string, string>>) =>
    server.inject({
      ...{ method: 'POST', url: `/api/v1/playground/${surface}?workspace=${workspace.id}` },
      headers: { ...withToken, 'content-type': 'application/json', ...headers },
      payload: '{"model":"a/b","input":["a","b"]}',
    });
  const own = { 'playground-request-id': '0123abcd-ef' };
  const replies = [await post('embeddings', own), await post('chat', own), await post('embeddings', {})];
  expect(replies.map(({ statusCode, body: text }) => [statusCode, text])).toEqual(
    Array.from({ length: 3 }, () => [200, '{"data":[]}']),
  );
  expect(asked).toEqual([
    ['/v1/embeddings', '0123abcd-ef'],
    ['/v1/chat/completions', '0123abcd-ef'],
    ['/v1/embeddings', null],
  ]);
  for (const bad of ['a b', 'x'.repeat(65)]) {
    expect((await post('embeddings', { 'playground-request-id': bad })).statusCode).toBe(400);
  }
});

it("passes the gateway's refusals on, and says when it does not answer", async () => {
  const refused = await ask((_, response) => {
    response
      .writeHead(402, { 'content-type': 'application/json', 'retry-after': '7' })
      .end('{"error":{"message":"no"}}');
  });
  const reply = await refused.send();
  expect([reply.statusCode, reply.headers['retry-after'], reply.body]).toEqual([
    402,
    '7',
    '{"error":{"message":"no"}}',
  ]);
  const gone = await ask((request) => request.socket.destroy());
  expect((await gone.send()).statusCode).toBe(502);
});

it('ends the call to the gateway when the reader goes', async () => {
  const ended = Promise.withResolvers<void>();
  const { server, url } = await ask((request, response) => {
    response.on('close', () => ended.resolve());
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
    request.resume();
  });
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  const leaving = new AbortController();
  const reply = await fetch(`${address}${url}`, {
    method: 'POST',
    headers: { ...withToken, 'content-type': 'application/json' },
    body,
    signal: leaving.signal,
  });
  await reply.body?.getReader().read();
  leaving.abort();
  await expect(ended.promise).resolves.toBeUndefined();
});

/** A gateway that takes keys as the accounts have them. */
async function askGood() {
  const sample = await ask((request, response) => {
    const text = (request.headers.authorization ?? '').slice('Bearer '.length);
    void sample.accounts.findCredential(text, sample.clock.now()).then((found) => {
      const isGood = found?.key.status === 'active';
      response.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const internal = async () =>
    (await sample.accounts.listKeys(sample.workspace)).filter(({ isOfPlayground }) => isOfPlayground);
  return { ...sample, internal };
}

it('replaces a key that was revoked at once, and never sends the refused one again', async () => {
  const { send, seen, accounts, internal } = await askGood();
  expect((await send()).statusCode).toBe(200);
  const [key] = await internal();
  await accounts.changeKey(
    key?.id ?? '',
    { status: 'revoked' },
    { actor: { kind: 'command-line', name: 'tester' }, now: 0 },
  );
  for (let count = 0; count < 5; count += 1) expect((await send()).statusCode).toBe(200);
  const texts = seen.map((one) => one.key);
  expect(new Set(texts).size).toBe(2);
  expect(texts.filter((text) => text === texts[0]).length).toBeLessThanOrEqual(2);
});

it('has one key for a person, however often they sign in, which is not in the lists of members and not theirs to revoke', async () => {
  const { server, accounts, workspace, internal } = await askGood();
  const url = `/api/v1/playground/chat?workspace=${workspace.id}`;
  let member = {};
  for (let count = 0; count < 5; count += 1) {
    member = asBrowser(await memberOf({ accounts }, workspace.id));
    const headers = { ...member, 'content-type': 'application/json' };
    expect((await server.inject({ method: 'POST', url, headers, payload: body })).statusCode).toBe(200);
  }
  const keys = await internal();
  expect(keys).toHaveLength(1);
  const listed = await server.inject({ url: `/api/v1/workspaces/${workspace.id}/keys`, headers: member });
  expect(listed.body).not.toContain(keys[0]?.id);
  const revoked = await server.inject({ method: 'POST', url: `/api/v1/keys/${keys[0]?.id}/revoke`, headers: member });
  expect(revoked.statusCode).toBe(404);
});

it('sends a key of the caller in place of its own, once, and keeps it nowhere', async () => {
  const { server, url, seen, text, logged, internal } = await askGood();
  const send = (key: string) =>
    server.inject({
      ...{ method: 'POST', url, payload: body },
      headers: { ...withToken, 'content-type': 'application/json', 'playground-key': key },
    });
  expect((await send(text)).statusCode).toBe(200);
  // A refused key is not replaced by another one, which would bill somebody else.
  expect((await send('sk-weir-unknown')).statusCode).toBe(401);
  expect(seen.map(({ key }) => key)).toEqual([`Bearer ${text}`, 'Bearer sk-weir-unknown']);
  expect(await internal()).toEqual([]);
  for (const bad of ['two words', 'ü', 'x'.repeat(201)]) expect((await send(bad)).statusCode).toBe(400);
  expect(seen).toHaveLength(2);
  expect(JSON.stringify(logged)).not.toContain('sk-weir');
});

it('proves to the gateway for which session it calls', async () => {
  const proofs: unknown[] = [];
  const { send, accounts, seen } = await ask((request, response) => {
    proofs.push(request.headers['weir-portal-session']);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await send();
  const hash = hashKey((seen[0]?.key ?? '').slice('Bearer '.length));
  const secret = await accounts.sharedSecret();
  expect(provenPortalSession(String(proofs[0]), hash, secret)).toMatch(/^[0-9a-f]{32}$/);
  // Somebody who has read the header cannot send another key with it.
  expect(provenPortalSession(String(proofs[0]), hashKey('another'), secret)).toBeUndefined();
});
