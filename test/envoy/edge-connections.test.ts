import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { ExtProcServer } from '../../src/gateway/extproc/server.ts';
import type { BootstrapOptions } from '../../src/control/envoy/config/bootstrap.ts';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { answerExtProc } from './support/extproc.ts';
import { figuresOf } from './support/process-figures.ts';

let envoy: TestEnvoy;
let service: ExtProcServer;
/** Ends a request that asked to wait. */
let finish: () => void = () => {};
const sockets: Socket[] = [];

async function start(options: Partial<BootstrapOptions>): Promise<void> {
  envoy = await startEnvoy(options);
  service = await answerExtProc(envoy.files.extprocSocket, (exchange) => {
    const key = exchange.head.header('authorization');
    if (key === 'waits') finish = () => exchange.reply(200, [], 'ok');
    else exchange.reply(key === undefined && exchange.head.method === 'POST' ? 401 : 200, [], 'ok');
  });
}

afterEach(async () => {
  await Promise.all(sockets.splice(0).map((socket) => end(socket)));
  await service.close(0);
  await envoy.stop();
});

/** A connection that a caller holds. */
interface Held {
  readonly socket: Socket;
  readonly isOpen: () => boolean;
  /** Resolves with the next bytes that arrive. */
  readonly heard: () => Promise<string>;
  readonly closed: Promise<void>;
}

function hold(socket: Socket): Held {
  sockets.push(socket);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let isOpen = true;
  socket.on('error', () => {});
  socket.on('end', () => (isOpen = false));
  socket.on('close', () => {
    isOpen = false;
    resolve();
  });
  socket.resume();
  return {
    socket,
    isOpen: () => isOpen,
    heard: async () => String((await once(socket, 'data'))[0]),
    closed,
  };
}

const from = (localAddress: string, bytes = ''): Held => {
  const held = hold(connect({ host: '127.0.0.1', port: envoy.port, localAddress }));
  if (bytes !== '') held.socket.write(bytes, 'latin1');
  return held;
};

async function end(socket: Socket): Promise<void> {
  if (socket.closed) return;
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
}

const stat = async (name: string): Promise<number> =>
  Number(/: (\d+)\n/.exec(await envoy.admin(`/stats?filter=^${name}$`))?.[1] ?? 0);
const openAtEnvoy = (): Promise<number> => stat('http.edge.downstream_cx_active');

const health = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
const chat = (key: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${key}content-length: 2\r\n\r\n{}`;

/** Whether a caller who comes from the address now is served. */
async function isServed(address: string): Promise<boolean> {
  const caller = from(address, health);
  // A connection that is refused may be reset, which is an error to who listens.
  const answer = await Promise.race([caller.heard(), caller.closed.then(() => 'closed')]).catch(() => 'reset');
  await end(caller.socket);
  return answer.startsWith('HTTP/1.1 200');
}

/** The very first count of an address may miss one that comes at the same moment on another worker (decision 0025). */
async function begin(address: string): Promise<void> {
  const first = from(address);
  await once(first.socket, 'connect');
  await end(first.socket);
  await expect.poll(openAtEnvoy).toBe(0);
}

/** A tenth of what production may have in all; an address has a smaller part than usual. */
const total = 2_000;
const perAddress = 100;

/** Two addresses open all there is, while a third comes anew again and again. Says how often it was served, and how often not. */
async function attack(): Promise<{
  readonly held: readonly Held[];
  readonly served: number;
  readonly refused: number;
}> {
  const held = Array.from({ length: total }, (_, index) => from(index % 2 === 0 ? '127.0.0.8' : '127.0.0.9'));
  const settled = Promise.all(held.map(({ socket, closed }) => Promise.race([once(socket, 'connect'), closed])));
  let isOver = false;
  void settled.then(() => (isOver = true));
  const counts = { served: 0, refused: 0 };
  do counts[(await isServed('127.0.0.10')) ? 'served' : 'refused'] += 1;
  while (!isOver);
  return { held, ...counts };
}

describe('all connections that there are, opened from two addresses', () => {
  it('leave everybody else served, and what they took is given back', async () => {
    await start({ maxConnections: total, connections: { perAddress, unauthenticatedIdleSeconds: 0 } });
    expect(await isServed('127.0.0.10')).toBe(true);
    await begin('127.0.0.8');
    await begin('127.0.0.9');
    const before = figuresOf(envoy.pid);
    const { held, refused } = await attack();
    await expect.poll(() => held.filter(({ isOpen }) => isOpen()).length).toBe(2 * perAddress);
    expect(refused).toBe(0);
    expect(await isServed('127.0.0.10')).toBe(true);
    await expect.poll(() => stat('wasmcustom.weir_connections_refused')).toBe(total - 2 * perAddress);

    await Promise.all(held.map(({ socket }) => end(socket)));
    await expect.poll(openAtEnvoy).toBe(0);
    await expect.poll(() => figuresOf(envoy.pid).descriptors).toBeLessThanOrEqual(before.descriptors + 5);
    expect(figuresOf(envoy.pid).residentBytes).toBeLessThan(before.residentBytes + 32 * 1024 * 1024);
    // Not one of the places is lost.
    const again = Array.from({ length: perAddress }, () => from('127.0.0.8'));
    await expect.poll(openAtEnvoy).toBe(perAddress);
    expect(again.every(({ isOpen }) => isOpen())).toBe(true);
  });

  it('lock everybody else out without a limit per address', async () => {
    await start({ maxConnections: total });
    await attack();
    // The third address may have held a place at the end: the two take what it leaves.
    const isStillServed = async (): Promise<boolean> => {
      from('127.0.0.8');
      return isServed('127.0.0.10');
    };
    await expect.poll(isStillServed).toBe(false);
  });
});

const http2Preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';
const strangers: Readonly<Record<string, string>> = {
  'that says nothing': '',
  'that sends one byte': 'P',
  'that sends empty lines': '\r\n\r\n',
  'that sends half a head': 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n',
  'that begins with HTTP/2 and asks nothing': http2Preface,
  'that has no key': chat(''),
  'that asks for its health': health,
  'that asks for the catalog': 'GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: a\r\n\r\n',
};

describe('a connection of which no request was authenticated', () => {
  it('is closed when it is idle, and those of known callers and of requests under way are kept', async () => {
    await start({ connections: { perAddress: 100, unauthenticatedIdleSeconds: 2 } });
    const known = from('127.0.0.1', chat('authorization: key\r\n'));
    const waiting = from('127.0.0.1', chat('authorization: waits\r\n'));
    expect(await known.heard()).toContain('200 OK');
    const others = Object.entries(strangers).map(([name, bytes]) => ({ name, ...from('127.0.0.1', bytes) }));
    await Promise.all(others.map(({ closed }) => closed));
    // A connection that came last lives longest, and it is closed too: what is open now stays open.
    const last = from('127.0.0.1');
    await last.closed;
    expect([known.isOpen(), waiting.isOpen()]).toEqual([true, true]);
    const answer = waiting.heard();
    finish();
    expect(await answer).toContain('200 OK');
    const second = known.heard();
    known.socket.write(chat('authorization: key\r\n'));
    expect(await second).toContain('200 OK');
    await expect.poll(() => stat('wasmcustom.weir_connections_closed_idle')).toBe(others.length + 1);
  });

  it('is told apart on HTTP/2, too', async () => {
    await start({ connections: { perAddress: 100, unauthenticatedIdleSeconds: 2 } });
    const [known, stranger] = await Promise.all(
      [{ authorization: 'key' }, {}].map(async (key) => {
        const session = connectHttp2(`http://127.0.0.1:${envoy.port}`);
        const post = { ':method': 'POST', ':path': '/v1/chat/completions', ...key };
        const stream = session.request(post).end('{}');
        const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
        await once(stream.resume(), 'close');
        return { session, status: head[':status'] };
      }),
    );
    if (known === undefined || stranger === undefined) throw new Error('two were opened');
    expect([known.status, stranger.status]).toEqual([200, 401]);
    await once(stranger.session, 'close');
    expect(known.session.closed).toBe(false);
    await new Promise<void>((resolve) => known.session.close(resolve));
  });

  it('stays open without the shorter time', async () => {
    await start({ connections: { perAddress: 100, unauthenticatedIdleSeconds: 0 } });
    const others = Object.entries(strangers).map(([name, bytes]) => ({ name, ...from('127.0.0.1', bytes) }));
    await new Promise((resolve) => setTimeout(resolve, 5_000)); // Nothing happens: that is the harm.
    expect(others.filter(({ isOpen }) => !isOpen()).map(({ name }) => name)).toEqual([]);
  });

  it('is closed while the service is away, and callers from other addresses get their answer from Envoy', async () => {
    await start({ connections: { perAddress: 3, unauthenticatedIdleSeconds: 3 } });
    await service.close(0);
    await begin('127.0.0.8');
    const held = Array.from({ length: 5 }, () => from('127.0.0.8'));
    await Promise.all(held.map(({ closed }) => closed));
    await expect.poll(() => stat('wasmcustom.weir_connections_refused')).toBe(2);
    const caller = from('127.0.0.10', health);
    expect(await caller.heard()).toContain('503');
  });
});

describe('with TLS', () => {
  it('what is above the limit is closed before the handshake, and who stays silent after it is closed too', async () => {
    const folder = join(import.meta.dirname, 'support', 'tls');
    const certificateFile = join(folder, 'certificate.pem');
    const keyFile = join(folder, 'key.pem');
    await start({
      edge: { address: '127.0.0.1', port: 0, tls: { certificateFile, keyFile } },
      connections: { perAddress: 3, unauthenticatedIdleSeconds: 2 },
    });
    const ca = await readFile(certificateFile);
    await begin('127.0.0.1');
    const secure = Array.from({ length: 5 }, () => hold(connectTls({ host: '127.0.0.1', port: envoy.port, ca })));
    const handshakes = await Promise.all(
      secure.map(({ socket, closed }) =>
        Promise.race([once(socket, 'secureConnect').then(() => true), closed.then(() => false)]).catch(() => false),
      ),
    );
    expect(handshakes.filter(Boolean)).toHaveLength(3);
    const known = secure[handshakes.indexOf(true)];
    if (known === undefined) throw new Error('none is secure');
    const answer = known.heard();
    known.socket.write(chat('authorization: key\r\n'));
    expect(await answer).toContain('200 OK');
    await Promise.all(secure.filter((held) => held !== known).map(({ closed }) => closed));
    expect(known.isOpen()).toBe(true);
  });
});
