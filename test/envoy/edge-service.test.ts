import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExtProcServer } from '../../src/gateway/extproc/server.ts';
import type { Exchange } from '../../src/core/exchange.ts';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { answerExtProc } from './support/extproc.ts';
import { sendRaw } from './support/raw-http.ts';
import { untilQuick } from '../support/until-quick.ts';

let envoy: TestEnvoy;
let service: ExtProcServer | undefined;
let children: ChildProcess[] = [];

beforeEach(async () => {
  envoy = await startEnvoy();
});

afterEach(async () => {
  await service?.close(0);
  service = undefined;
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
  children = [];
  await envoy.stop();
});

async function spawnService(behaviour: 'hang' | 'start') {
  const script = fileURLToPath(new URL('./support/extproc-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, envoy.files.extprocSocket, behaviour], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

const health = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
const chat = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}';

const listen = async (handle: (exchange: Exchange) => void): Promise<void> => {
  service = await answerExtProc(envoy.files.extprocSocket, handle);
};

describe('without a service', () => {
  it.each([
    ['GET', health],
    ['POST', chat],
  ])('a %s is 503 in the envelope at once', async (_method, bytes) => {
    const answer = await untilQuick({ boundMs: 1_000, run: () => sendRaw(envoy.port, bytes) });
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body)).toEqual({
      error: { message: expect.any(String) as unknown, type: 'service_error' },
    });
    expect(answer.headers.has('retry-after')).toBe(false);
  });

  it('an unknown path is still 404', async () => {
    expect((await sendRaw(envoy.port, 'GET /nope HTTP/1.1\r\nhost: x\r\n\r\n')).status).toBe(404);
  });

  it('serves again as soon as there is one', async () => {
    expect((await sendRaw(envoy.port, health)).status).toBe(503);
    await listen((exchange) => exchange.reply(200, [], 'ok'));
    expect((await sendRaw(envoy.port, health)).status).toBe(200);
  });
});

describe('a service that is killed', () => {
  it('before it answers is 503 in the envelope', async () => {
    const child = await spawnService('hang');
    const answer = sendRaw(envoy.port, chat);
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    expect((await answer).status).toBe(503);
    expect(JSON.parse((await answer).body)).toMatchObject({ error: { type: 'service_error' } });
  });

  it('in the middle of an answer cuts the connection', async () => {
    const child = await spawnService('start');
    const socket = connect(envoy.port, '127.0.0.1');
    let text = '';
    const begun = Promise.withResolvers<void>();
    socket.on('data', (piece: Buffer) => {
      text += piece.toString();
      if (text.includes('hello')) begun.resolve();
    });
    socket.on('error', () => {});
    socket.write(chat);
    await begun.promise;
    const closed = once(socket, 'close');
    child.kill('SIGKILL');
    await closed;
    // Chunked: an answer that is complete ends with an empty chunk.
    expect(text).not.toMatch(/0\r\n\r\n$/);
  });

  it('can be started again on the same socket', async () => {
    const child = await spawnService('hang');
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    await listen((exchange) => exchange.reply(200, [], 'ok'));
    expect((await sendRaw(envoy.port, health)).status).toBe(200);
  });
});

describe('an answer', () => {
  it('may take its time: no timer of Envoy cuts it', async () => {
    // What would cut it first is Envoy's default ext_proc limit of 200 ms; minutes are the subject of no test.
    await listen((exchange) => void setTimeout(() => exchange.reply(200, [], 'late'), 600));
    expect((await sendRaw(envoy.port, chat)).body).toBe('late');
  });

  it('may come before the request is complete', async () => {
    await listen((exchange) => exchange.reply(413, [['content-type', 'text/plain']], 'too large'));
    const answer = await sendRaw(
      envoy.port,
      'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n{',
    );
    expect(answer.status).toBe(413);
    expect(answer.body).toBe('too large');
  });

  it('that nobody waits for any more is told to the service', async () => {
    let left = Promise.withResolvers<void>();
    let reached = Promise.withResolvers<void>();
    await listen((exchange) => {
      exchange.signal.addEventListener('abort', () => left.resolve());
      reached.resolve();
    });
    let socket: Socket | undefined;
    const prepare = async (): Promise<void> => {
      [left, reached] = [Promise.withResolvers(), Promise.withResolvers()];
      socket = connect(envoy.port, '127.0.0.1');
      socket.write(chat);
      await reached.promise;
    };
    const run = async (): Promise<void> => {
      socket?.destroy();
      await left.promise;
    };
    await untilQuick({ boundMs: 1_000, prepare, run });
  });
});

it('a body of 32 MiB arrives whole', async () => {
  const received = Promise.withResolvers<number>();
  await listen((exchange) => {
    void exchange.body(64 * 1024 * 1024).then((body) => {
      received.resolve(body.length);
      exchange.reply(200, [], 'ok');
    });
  });
  const size = 32 * 1024 * 1024;
  const socket = connect(envoy.port, '127.0.0.1');
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n`);
  socket.write(Buffer.alloc(size, 'x'));
  const closed = once(socket, 'close');
  socket.once('data', () => socket.destroy());
  expect(await received.promise).toBe(size);
  await closed;
});
