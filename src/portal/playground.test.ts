import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { call, samplePortal, withToken } from '../../test/support/sample-portal.ts';

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

it('passes body and answer on untouched, with a key of its own that lasts an hour and may spend a dollar', async () => {
  const stream = 'data: {"choices":[]}\n\n: comment\n\ndata: [DONE]\n\n';
  const { send, seen, server, accounts, workspace, clock } = await ask((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-secret': 'no' }).end(stream);
  });
  const [first, second] = [await send(), await send()];
  for (const reply of [first, second]) {
    expect([reply.statusCode, reply.headers['content-type'], reply.body]).toEqual([200, 'text/event-stream', stream]);
    expect(reply.headers['x-secret']).toBeUndefined();
  }
  expect(seen.map((one) => one.body)).toEqual([body, body]);
  expect(seen[0]?.key).toMatch(/^Bearer sk-weir-\w{49}$/);
  expect(seen[1]?.key).toBe(seen[0]?.key);
  const keys = await accounts.pageOfKeys(workspace.id, { limit: 9, cursor: undefined });
  expect(
    keys.items.map(({ name, budget, expiresAt }) => [name, budget?.limit, budget?.period, expiresAt]),
  ).toContainEqual([...['playground of admin token', 10n ** 12n, 'total', clock.now() + 3_600_000]]);
  // Neither an answer nor the trail has the key.
  const told = JSON.stringify([(await call(server, { url: '/api/v1/audit' })).body, first.headers]);
  expect(told).not.toContain(seen[0]?.key.slice(7));
  clock.advance(3_600_000);
  await send();
  expect(seen[2]?.key).not.toBe(seen[0]?.key);
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
