import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEnvoyAdmin, type EnvoyAdmin } from '../../src/control/envoy/runtime/admin.ts';
import { createDownstreamBuffers, type DownstreamBuffers } from '../../src/control/envoy/runtime/downstream-buffers.ts';
import type { ExtProcServer } from '../../src/gateway/extproc/server.ts';
import { systemClock } from '../../src/process/clock.ts';
import type { Exchange } from '../../src/core/exchange.ts';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { answerExtProc, unbounded } from './support/extproc.ts';

const mebibyte = 1024 * 1024;
const answerBytes = 40 * mebibyte;
/** What one reader may make Envoy hold; the service holds nothing but the piece it waits with. */
const statedBytes = 4 * mebibyte;

let envoy: TestEnvoy;
let admin: EnvoyAdmin;
let buffers: DownstreamBuffers;
let service: ExtProcServer | undefined;
/** Bytes written so far for each answer, by its query. */
let written: Map<string, number>;
let left: Set<string>;

beforeEach(async () => {
  envoy = await startEnvoy();
  admin = createEnvoyAdmin(envoy.files);
  buffers = createDownstreamBuffers({ admin, clock: systemClock });
  written = new Map();
  left = new Set();
});

afterEach(async () => {
  buffers.close();
  admin.close();
  await service?.close(0);
  await envoy.stop();
});

const piece = 'x'.repeat(16 * 1024);

/** Answers as fast as it may, and minds what `write` says. */
function answer(exchange: Exchange): void {
  const name = exchange.head.path.split('?')[1] ?? '';
  let over = false;
  exchange.signal.addEventListener('abort', () => {
    over = true;
    left.add(name);
  });
  exchange.start(200, [['content-type', 'text/event-stream']]);
  const go = (): void => {
    while (!over) {
      const so = (written.get(name) ?? 0) + piece.length;
      written.set(name, so);
      if (so >= answerBytes) {
        exchange.end(piece);
        return;
      }
      if (exchange.write(piece)) continue;
      exchange.onDrain(go);
      return;
    }
  };
  go();
}

const paced = async (): Promise<void> => {
  service = await answerExtProc(envoy.files.extprocSocket, answer, (connection) => buffers.open(connection));
};
const unpaced = async (): Promise<void> => {
  service = await answerExtProc(envoy.files.extprocSocket, answer, () => unbounded);
};

async function heldByEnvoy(): Promise<number> {
  const stats = await envoy.admin(
    '/stats?filter=^(http.edge.downstream_cx_tx_bytes_buffered|http2.pending_send_bytes)$',
  );
  return [...stats.matchAll(/: (\d+)/g)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

/** Resolves when `written` has not grown, look after look: nobody tells that a writer waits. */
async function standstill(name: string): Promise<number> {
  for (let before = -1, looks = 0; ;) {
    const now = written.get(name) ?? 0;
    looks = now > 0 && now === before ? looks + 1 : 0;
    if (looks === 3) return now;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

interface Reader {
  /** Reads to the end and resolves with the number of body bytes, framing included. */
  readonly readAll: () => Promise<number>;
  readonly close: () => Promise<void>;
}

function http1Reader(name: string): Reader {
  const socket = connect(envoy.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`POST /v1/chat/completions?${name} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}`);
  socket.pause();
  return {
    readAll: async () => {
      let bytes = 0;
      socket.on('data', (got: Buffer) => {
        bytes += got.length;
        if (got.subarray(-5).toString() === '0\r\n\r\n') socket.destroy();
      });
      const closed = once(socket, 'close');
      socket.resume();
      await closed;
      return bytes;
    },
    close: async () => {
      if (socket.destroyed) return;
      const closed = once(socket, 'close');
      socket.destroy();
      await closed;
    },
  };
}

/** With a connection window that one stream which is not read cannot fill: Node's default is as small as a stream's. */
async function connectSession(): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://127.0.0.1:${envoy.port}`);
  await once(session, 'connect');
  session.setLocalWindowSize(16 * mebibyte);
  return session;
}

function http2Reader(session: ClientHttp2Session, name: string): Reader & { readonly stream: ClientHttp2Stream } {
  const stream = session.request({ ':method': 'POST', ':path': `/v1/chat/completions?${name}` });
  stream.on('error', () => {});
  stream.end('{}');
  stream.pause();
  return {
    stream,
    readAll: async () => {
      let bytes = 0;
      stream.on('data', (got: Buffer) => (bytes += got.length));
      const closed = new Promise((resolve) => stream.on('close', resolve));
      stream.resume();
      await closed;
      return bytes;
    },
    close: async () => {
      if (stream.destroyed) return;
      const closed = new Promise((resolve) => stream.on('close', resolve));
      stream.destroy();
      await closed;
    },
  };
}

describe('an HTTP/1.1 reader that stops', () => {
  it('makes Envoy hold no more than stated, loses nothing and delays nobody', async () => {
    await paced();
    const slow = http1Reader('slow');
    const sent = await standstill('slow');
    expect(sent).toBeLessThan(answerBytes);
    expect(await heldByEnvoy()).toBeLessThan(statedBytes);

    expect(await http1Reader('fast').readAll()).toBeGreaterThanOrEqual(answerBytes);
    expect(written.get('slow')).toBe(sent);

    expect(await slow.readAll()).toBeGreaterThanOrEqual(answerBytes);
    expect(await heldByEnvoy()).toBe(0);
  });

  it('makes Envoy hold everything when nobody paces (what the pacing prevents)', async () => {
    await unpaced();
    const slow = http1Reader('slow');
    expect(await standstill('slow')).toBe(answerBytes);
    expect(await heldByEnvoy()).toBeGreaterThan(4 * statedBytes);
    await slow.close();
  });
});

describe('an HTTP/2 reader that stops taking one stream', () => {
  it('makes Envoy hold no more than stated for a while, and other streams of the connection go on', async () => {
    await paced();
    const session = await connectSession();
    const slow = http2Reader(session, 'slow');
    await once(slow.stream, 'response');
    while ((written.get('slow') ?? 0) < 2 * mebibyte) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await heldByEnvoy()).toBeLessThan(statedBytes);
    const other = http2Reader(session, 'other');
    await once(other.stream, 'response');
    other.stream.resume();
    await once(other.stream, 'data');
    await other.close();
    await slow.close();
    await new Promise<void>((resolve) => session.close(resolve));
  });

  it('is reset by Envoy at 8 MiB, alone, even if nobody paces', async () => {
    await unpaced();
    const session = await connectSession();
    const slow = http2Reader(session, 'slow');
    await new Promise((resolve) => slow.stream.on('close', resolve));
    expect(slow.stream.rstCode).not.toBe(0);
    const health = session.request({ ':path': '/nope' });
    const [headers] = (await once(health, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(404);
    health.resume();
    await new Promise<void>((resolve) => session.close(resolve));
  });

  it('keeps a reader that does not stop, whatever it reads beside', async () => {
    await paced();
    const session = await connectSession();
    expect(await http2Reader(session, 'fast').readAll()).toBe(answerBytes);
    expect(left.size).toBe(0);
    await new Promise<void>((resolve) => session.close(resolve));
  });
});
