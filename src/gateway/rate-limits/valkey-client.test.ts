import { createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { readValkeyAddress } from '../../core/valkey-address.ts';
import { openValkeyClient } from './valkey-client.ts';
import { leaveScript } from './valkey-scripts.ts';

/** The beginning of a handshake. */
const tls = '\u0016\u0003';

const login = 'auth\r\n$2\r\nme\r\n$6\r\nsecret\r\n';

/** A server that accepts connections and answers nothing. Gives its port, and the beginning of what it receives. */
async function silentServer() {
  const received = Promise.withResolvers<string>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let bytes = '';
    socket.on('data', (chunk) => {
      bytes += chunk.toString('latin1');
      // The login, the name of a connection without one, or the beginning of TLS.
      if (['secret', 'weir', tls].some((text) => bytes.includes(text))) received.resolve(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: typeof address === 'object' ? address?.port : undefined, received: received.promise };
}

function open(url: string) {
  const address = readValkeyAddress(url);
  if (address === undefined) throw new Error(`${url} is no address`);
  const client = openValkeyClient(address);
  client.listen({ ready: () => undefined, closed: () => undefined, failed: () => undefined });
  onTestFinished(client.close);
  return client;
}

it.each<[string, (port: number) => string, string]>([
  ['a server with a login', (port) => `redis://me:secret@localhost:${port}`, login],
  ['an encrypted server', (port) => `rediss://localhost:${port}`, tls],
  ['a cluster', (port) => `redis://localhost:${port}?cluster`, ':weir\r\n'],
  ['a cluster with a login', (port) => `redis://me:secret@localhost:${port}?cluster`, login],
  ['an encrypted cluster', (port) => `rediss://localhost:${port}?cluster`, tls],
])('%s is sent the login, or the name, or TLS', async (_, urlOf, beginning) => {
  const { port = 0, received } = await silentServer();
  open(urlOf(port));
  expect(await received).toContain(beginning);
});

it.each(['', '?cluster'])('a command fails at once while no server can be reached: "%s"', async (form) => {
  const { port } = await silentServer();
  const client = open(`redis://localhost:${port}${form}`);
  expect(client.isReady()).toBe(false);
  await expect(client.run(leaveScript, ['key'], ['name'])).rejects.toThrow('enableOfflineQueue');
});
