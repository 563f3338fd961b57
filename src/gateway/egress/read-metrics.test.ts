import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createMetricsReader, type MetricsTarget } from './read-metrics.ts';

const text = 'vllm:num_requests_running 3\n';

async function serve(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const clock = createFakeClock();
  const reader = createMetricsReader(clock);
  onTestFinished(async () => {
    reader.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const target: MetricsTarget = {
    cluster: { name: 'cluster-a', tls: { mode: 'Disabled' } },
    endpoint: `127.0.0.1:${port}`,
    authority: 'vllm-a:8000',
    path: '/metrics',
    headers: [['authorization', 'Bearer key-of-the-engine']],
  };
  return { server, clock, reader, target };
}

it('reads the metrics of an engine, with the credentials of its backend, on one connection', async () => {
  const seen: unknown[] = [];
  let connections = 0;
  const { server, reader, target, clock } = await serve((request, response) => {
    seen.push([request.method, request.url, request.headers.host, request.headers.authorization]);
    response.end(text);
  });
  server.on('connection', () => (connections += 1));
  for (let time = 0; time < 3; time += 1) {
    expect(await reader.read(target)).toEqual({ kind: 'metrics', text });
    await nextTurn();
  }
  expect(seen).toEqual(Array(3).fill(['GET', '/metrics', 'vllm-a:8000', 'Bearer key-of-the-engine']));
  expect(connections).toBe(1);
  expect(clock.armed()).toBe(0);
});

it.each([404, 401, 500, 501])('finds no metrics where the engine answers %i', async (status) => {
  const { reader, target } = await serve((_, response) => response.writeHead(status).end('x'.repeat(100_000)));
  expect(await reader.read(target)).toEqual({ kind: 'absent' });
});

it('does not follow the engine to another address', async () => {
  const asked: unknown[] = [];
  const other = await serve((request, response) => {
    asked.push(request.headers);
    response.end(text);
  });
  const { reader, target } = await serve((_, response) =>
    response.writeHead(302, { location: `http://${other.target.endpoint}/metrics` }).end(),
  );
  expect(await reader.read(target)).toEqual({ kind: 'absent' });
  expect(asked).toEqual([]);
});

it('gives up an engine whose metrics do not end, after a mebibyte', async () => {
  let closed: Promise<unknown> | undefined;
  const { reader, target } = await serve((_, response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    const more = (): void => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', more);
    };
    more();
  });
  expect(await reader.read(target)).toEqual({ kind: 'absent' });
  await closed;
});

it.each(['nothing', 'a part'])('gives up an engine that sends %s within a second', async (sent) => {
  let came: (() => void) | undefined;
  const asked = new Promise<void>((resolve) => (came = resolve));
  let closed: Promise<unknown> | undefined;
  const { reader, target, clock } = await serve((_, response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    if (sent === 'a part') response.write(text);
    came?.();
  });
  const answer = reader.read(target);
  await asked;
  clock.advance(1000);
  expect(await answer).toEqual({ kind: 'failed' });
  await closed;
});

it('fails where nothing listens, and where the answer is cut', async () => {
  const { server, reader, target } = await serve((request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write(text);
    setImmediate(() => request.socket.destroy());
  });
  expect(await reader.read(target)).toEqual({ kind: 'failed' });
  await new Promise((resolve) => server.close(resolve));
  expect(await reader.read(target)).toEqual({ kind: 'failed' });
});

it('closes the connections to clusters that are gone', async () => {
  const { server, reader, target } = await serve((_, response) => response.end(text));
  const closed = new Promise((resolve) => server.once('connection', (socket) => socket.once('close', resolve)));
  await reader.read(target);
  reader.retain(new Set());
  await closed;
  expect(await reader.read(target)).toEqual({ kind: 'metrics', text });
});
