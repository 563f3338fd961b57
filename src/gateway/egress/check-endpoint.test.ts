import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { checkEndpoint } from './check-endpoint.ts';

const cluster = { tls: { mode: 'Disabled' }, healthCheck: { path: '/health', intervalSeconds: 5 } } as const;

it('asks as Envoy does, without credentials, and gives the status that came', async () => {
  const seen: unknown[] = [];
  const server = createServer((request, response) => {
    seen.push([request.method, request.url, request.headers.host, request.headers.authorization]);
    response.writeHead(401).end('x'.repeat(100_000));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => void server.close());
  const asked = { endpoint: `127.0.0.1:${port}`, authority: 'vllm-a:8000' };
  expect(await checkEndpoint(cluster, asked)).toEqual({ status: 401 });
  expect(seen).toEqual([['GET', '/health', 'vllm-a:8000', undefined]]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await checkEndpoint(cluster, asked)).toEqual({ problem: 'connection refused' });
});
