import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { messageOf } from '../../src/core/failure.ts';
import { startEnvoy } from './support/envoy.ts';
import { at, clustersOf } from './support/give-clusters.ts';
import { untilQuick } from '../support/until-quick.ts';
import { forFile } from '../support/for-file.ts';

/** What the engine does with a connection, set by each test. */
let onConnection: (socket: Socket) => void = () => {};
const sockets = new Set<Socket>();

const answer = (body: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

const envoy = await forFile(startEnvoy({ runFolder: await mkdtemp(join(tmpdir(), 'weir-')) }));
const engine = await forFile(
  createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    onConnection(socket);
  }),
);
engine.listen(0, '127.0.0.1');
await once(engine, 'listening');
const enginePort = (engine.address() as AddressInfo).port;
const clusters = await forFile(clustersOf(envoy));
const cluster = (name: string, port: number) =>
  ({ name, backend: name, endpoints: at(port, '127.0.0.1'), tls: { mode: 'Disabled' } }) as const;
const gone = createServer().listen(0, '127.0.0.1');
await once(gone, 'listening');
const closedPort = (gone.address() as AddressInfo).port;
gone.close();
await clusters.give([
  cluster('engine', enginePort),
  cluster('closed', closedPort),
  { ...cluster('narrow', enginePort), maxConcurrentRequests: 1 },
]);

afterEach(() => {
  for (const socket of sockets) socket.destroy();
});

interface Call {
  readonly response: Promise<IncomingMessage>;
  readonly abort: () => void;
}

function call(cluster: string): Call {
  const sent = request({
    socketPath: envoy.files.egressSocket,
    agent: false,
    method: 'POST',
    path: '/v1/chat/completions?a=b',
    headers: {
      host: 'engine.example',
      'x-weir-cluster': cluster,
      'content-type': 'application/json',
      authorization: 'Bearer secret',
      'content-length': 2,
    },
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject);
  });
  sent.end('{}');
  return { response, abort: () => sent.destroy() };
}

/** The body, or the error that ended it. */
async function read(response: IncomingMessage): Promise<string> {
  let body = '';
  try {
    for await (const piece of response) body += String(piece);
    return body;
  } catch (error) {
    return `cut after '${body}': ${messageOf(error)}`;
  }
}

describe('what reaches an engine', () => {
  it('is what was sent, without the cluster header and with nothing added', async () => {
    let received = '';
    onConnection = (socket) =>
      socket.on('data', (piece: Buffer) => {
        received += piece.toString();
        if (received.endsWith('{}')) socket.write(answer('ok'));
      });
    expect(await read(await call('engine').response)).toBe('ok');
    const [head = '', body] = received.split('\r\n\r\n');
    const [first, ...headers] = head.split('\r\n');
    expect(first).toBe('POST /v1/chat/completions?a=b HTTP/1.1');
    expect(headers.toSorted()).toEqual([
      'authorization: Bearer secret',
      'content-length: 2',
      'content-type: application/json',
      'host: engine.example',
    ]);
    expect(body).toBe('{}');
  });

  it('uses a connection again', async () => {
    let connections = 0;
    onConnection = (socket) => {
      connections += 1;
      socket.on('data', () => socket.write(answer('ok')));
    };
    // Two workers of Envoy have a pool each.
    for (let count = 0; count < 10; count += 1) expect(await read(await call('engine').response)).toBe('ok');
    expect(connections).toBeLessThanOrEqual(2);
  });
});

describe('a failure before an answer', () => {
  it.each([
    { what: 'an unknown cluster', cluster: 'nobody', flags: 'NC' },
    { what: 'a closed port', cluster: 'closed', flags: 'UF' },
  ])('of $what is told in a header', async ({ cluster, flags }) => {
    const response = await call(cluster).response;
    await read(response);
    expect(response.statusCode).toBe(503);
    expect(response.headers['x-weir-egress-failure']).toContain(flags);
  });

  it('by an engine that hangs up is told in a header', async () => {
    onConnection = (socket) => socket.on('data', () => socket.resetAndDestroy());
    const response = await call('engine').response;
    await read(response);
    expect(response.statusCode).toBe(503);
    expect(response.headers['x-weir-egress-failure']).toContain('UC');
  });

  it('by reaching the capacity is told in a header', async () => {
    const reached = Promise.withResolvers<Socket>();
    onConnection = (socket) => socket.on('data', () => reached.resolve(socket));
    const first = call('narrow');
    const engineSide = await reached.promise;
    const second = await call('narrow').response;
    await read(second);
    expect(second.statusCode).toBe(503);
    expect(second.headers['x-weir-egress-failure']).toContain('UO');
    engineSide.write(answer('ok'));
    expect(await read(await first.response)).toBe('ok');
  });

  it('cannot be pretended by an engine', async () => {
    onConnection = (socket) =>
      socket.on('data', () =>
        socket.write('HTTP/1.1 503 No\r\nx-weir-egress-failure: UF\r\nserver: acme\r\ncontent-length: 0\r\n\r\n'),
      );
    const response = await call('engine').response;
    await read(response);
    expect(response.statusCode).toBe(503);
    expect(response.headers).not.toHaveProperty('x-weir-egress-failure');
    expect(Object.keys(response.headers).filter((name) => name.startsWith('x-envoy'))).toEqual([]);
  });
});

describe('an answer that is cut', () => {
  const chunkedStart = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n';
  const sizedStart = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello';
  it.each([
    { what: 'chunked, closed without a last chunk', start: chunkedStart, end: 'close' },
    { what: 'chunked, reset', start: chunkedStart, end: 'reset' },
    { what: 'of known length, closed', start: sizedStart, end: 'close' },
    { what: 'of known length, reset', start: sizedStart, end: 'reset' },
  ])('($what) is an error, not an end', async ({ start, end }) => {
    const reached = Promise.withResolvers<Socket>();
    onConnection = (socket) =>
      socket.on('data', () => {
        socket.write(start);
        reached.resolve(socket);
      });
    const response = await call('engine').response;
    const engineSide = await reached.promise;
    // The first piece has come through, so that the cut comes after the start.
    await once(response, 'readable');
    if (end === 'reset') engineSide.resetAndDestroy();
    else engineSide.end();
    expect(await read(response)).toMatch(/^cut after 'hello'/);
  });

  // Envoy 1.40 takes any end of such a connection for the end of the answer. What the answer says decides then.
  it.each(['end', 'resetAndDestroy'] as const)(
    'looks like an end when the connection is what ends it (%s)',
    async (end) => {
      const reached = Promise.withResolvers<Socket>();
      onConnection = (socket) =>
        socket.on('data', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\nhello');
          reached.resolve(socket);
        });
      const response = await call('engine').response;
      await once(response, 'readable');
      (await reached.promise)[end]();
      expect(await read(response)).toBe('hello');
    },
  );
});

describe('a call that is given up', () => {
  it.each([
    { when: 'before the answer', start: '' },
    { when: 'in the middle of it', start: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n' },
  ])('$when closes the connection to the engine', async ({ start }) => {
    let closed: Promise<unknown> = Promise.resolve();
    let abort: () => void = () => undefined;
    const prepare = async (): Promise<void> => {
      const reached = Promise.withResolvers<Socket>();
      onConnection = (socket) =>
        socket.on('data', () => {
          if (start !== '') socket.write(start);
          reached.resolve(socket);
        });
      const under = call('engine');
      ({ abort } = under);
      under.response.catch(() => {});
      closed = once(await reached.promise, 'close');
      if (start !== '') (await under.response).on('error', () => {}).resume();
    };
    const run = async (): Promise<void> => {
      abort();
      await closed;
    };
    await untilQuick({ boundMs: 1_000, prepare, run });
  });
});

it('an engine feels a reader that waits: Envoy holds less than 1 MiB of an endless answer', async () => {
  const total = 100 * 1024 * 1024;
  let sent = 0;
  const piece = Buffer.alloc(64 * 1024, 'x');
  const blocked = Promise.withResolvers<void>();
  onConnection = (socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const push = (): void => {
        while (sent < total) {
          sent += piece.length;
          if (socket.write(piece)) continue;
          socket.once('drain', push);
          return;
        }
        blocked.reject(new Error('everything was taken'));
      };
      push();
    });
  const response = await call('engine').response;
  await once(response, 'readable');
  // Nothing tells that a sender waits: it does when the count stands still, look after look.
  for (let before = -1, looks = 0; looks < 5; looks = before === sent ? looks + 1 : 0) {
    before = sent;
    await Promise.race([blocked.promise, new Promise((resolve) => setTimeout(resolve, 300))]);
  }
  const held = [...(await envoy.admin('/stats?filter=_bytes_buffered$')).matchAll(/: (\d+)/g)].map(([, n]) =>
    Number(n),
  );
  expect(held.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(1024 * 1024);
  expect(sent).toBeLessThan(total);
  response.destroy();
});
