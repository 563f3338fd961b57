import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { RequestContext } from '@kubernetes/client-node';
import { Agent } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { AnswerTooLarge, ApiError, type ClientLimits, createKubeClient, type KubeClient } from './client.ts';

const open: { readonly server: Server; readonly client: KubeClient }[] = [];

async function begin(listener: RequestListener, limits: ClientLimits = {}): Promise<KubeClient> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const agent = new Agent();
  const authentication = {
    getName: () => 'none',
    applySecurityAuthentication: (context: RequestContext) => context.setDispatcher(agent),
  };
  const access = { server: `http://127.0.0.1:${port}`, authentication, close: () => agent.destroy() };
  const client = createKubeClient(access, limits);
  open.push({ server, client });
  return client;
}

afterEach(async () => {
  for (const { server, client } of open.splice(0)) {
    await client.close();
    server.close();
    server.closeAllConnections();
  }
});

const read = (client: KubeClient): Promise<unknown> => client.leases.readNamespacedLease({ namespace: 'a', name: 'x' });

function watch(client: KubeClient, signal = new AbortController().signal) {
  const lines: string[] = [];
  const opened = Promise.withResolvers<void>();
  const ended = client.watch('/w', { signal, onOpen: opened.resolve, onLine: (line) => void lines.push(line) });
  return { lines, ended, opened: opened.promise };
}

it('rejects a refused call with its status, reason and message', async () => {
  const client = await begin((_, response) => {
    response.writeHead(409).end('{"kind":"Status","reason":"Conflict","message":"it has changed"}');
  });
  const refusal = await read(client).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(ApiError);
  expect(refusal).toMatchObject({ status: 409, reason: 'Conflict', message: 'it has changed' });
});

it('rejects with the text of an answer that is no Status', async () => {
  const client = await begin((_, response) => void response.writeHead(502).end('<html>Bad gateway'));
  await expect(read(client)).rejects.toMatchObject({ status: 502, message: '<html>Bad gateway' });
});

it.each([200, 500])('reads an answer of %i to its bound', async (status) => {
  let sent = 0;
  const client = await begin(
    (_, response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.on('error', () => undefined);
      const more = (): void => {
        // It would never end.
        while (!response.destroyed && response.write(' '.repeat(1024))) sent += 1;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    { maxAnswerBytes: 4096 },
  );
  await expect(read(client)).rejects.toBeInstanceOf(AnswerTooLarge);
  expect(sent).toBeGreaterThan(4);
});

it('gives up a call that is not answered', async () => {
  const client = await begin(() => undefined, { callMs: 50 });
  await expect(read(client)).rejects.toThrow('does not answer');
});

it('hands on whole lines, wherever the pieces are cut', async () => {
  const text = '{"a":"é"}\n{"b":1}\n';
  const bytes = Buffer.from(text);
  const client = await begin((_, response) => {
    const send = (index: number): void => {
      if (index === bytes.length) response.end();
      else response.write(bytes.subarray(index, index + 1), () => send(index + 1));
    };
    send(0);
  });
  const { lines, ended } = watch(client);
  await ended;
  expect(lines).toEqual(['{"a":"é"}', '{"b":1}']);
});

it('gives up a watch that has gone silent', async () => {
  const client = await begin((_, response) => void response.write('{"a":1}\n'), { silentMs: 50 });
  const { lines, ended } = watch(client);
  await expect(ended).rejects.toThrow('silent');
  expect(lines).toEqual(['{"a":1}']);
});

it('gives up a line without an end', async () => {
  const client = await begin((_, response) => void response.write('x'.repeat(200)), { maxLineLength: 100 });
  await expect(watch(client).ended).rejects.toThrow('too long');
});

it('rejects a watch that is cut, and ends one that is told to', async () => {
  const client = await begin((request, response) => {
    response.write('{"a":1}\n');
    if (request.headers['x-cut'] === undefined) return;
  });
  const over = new AbortController();
  const { opened, ended } = watch(client, over.signal);
  await opened;
  over.abort();
  await expect(ended).resolves.toBeUndefined();
  const cut = watch(client);
  await cut.opened;
  open[0]?.server.closeAllConnections();
  await expect(cut.ended).rejects.toThrow('closed');
});

it('lists objects as the server sends them: their times are text', async () => {
  const pods = { items: [{ metadata: { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z' } }] };
  const client = await begin((_, response) => void response.end(JSON.stringify(pods)));
  expect(await client.list('/api/v1/namespaces/a/pods', new AbortController().signal)).toEqual(pods);
});
