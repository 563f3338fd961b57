import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/core/exchange.ts';
import type { ExtProcServer } from '../../src/gateway/extproc/server.ts';
import { startEnvoy, type TestEnvoy } from './support/envoy.ts';
import { answerExtProc, unbounded } from './support/extproc.ts';

// The edge gives up a connection on which a reader has taken nothing for 300 s while bytes wait for it. Here: for 4 s.
const limitMs = 4_000;
const stated = '"int_value":300000';
const shorter = (bootstrap: string): string => bootstrap.replace(stated, `"int_value":${limitMs}`);
const never = (bootstrap: string): string => bootstrap.replace(stated, '"int_value":0');

/** More than the kernel takes for both readers. */
const pieces = 1_024;
const piece = 'x'.repeat(16 * 1024);
/** The kernel announces room to the sender only when a sixteenth of its buffer is free: a few pauses count as one. */
const pauseMs = 150;

let envoy: TestEnvoy;
let service: ExtProcServer;
let sockets: Socket[] = [];
let left: Set<string>;

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await service.close(0);
  await envoy.stop();
});

/** Sends most of an answer, and then waits for its reader. */
function answer(exchange: Exchange): void {
  const name = exchange.head.path.split('?')[1] ?? '';
  exchange.signal.addEventListener('abort', () => left.add(name));
  exchange.start(200, [['content-type', 'text/event-stream']]);
  for (let count = 0; count < pieces; count += 1) exchange.write(piece);
}

async function start(change: (bootstrap: string) => string): Promise<void> {
  left = new Set();
  envoy = await startEnvoy({ change });
  service = await answerExtProc(envoy.files.extprocSocket, answer, () => unbounded);
}

async function ask(name: string): Promise<Socket> {
  const socket = connect(envoy.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  socket.write(`POST /v1/chat/completions?${name} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}`);
  await once(socket, 'data');
  socket.pause();
  return socket;
}

/** Takes some of an answer now and then, for three times the limit. */
async function takeNowAndThen(socket: Socket): Promise<void> {
  const givenUp = new AbortController();
  socket.once('close', () => givenUp.abort(new Error('the edge gave up a reader who takes some')));
  for (let taken = 0; taken < (3 * limitMs) / pauseMs; taken += 1) {
    // The pause is what is tested: the reader is slow.
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    socket.resume();
    await once(socket, 'data', { signal: givenUp.signal });
    socket.pause();
  }
}

describe('a reader who takes nothing in the middle of an answer', () => {
  it('is given up after the limit; one who takes a little now and then is not', async () => {
    await start(shorter);
    await ask('stopped');
    await takeNowAndThen(await ask('slow'));
    expect(left).toEqual(new Set(['stopped']));
  });

  it('keeps the answer for ever without the limit (what the limit prevents)', async () => {
    await start(never);
    await ask('stopped');
    await takeNowAndThen(await ask('slow'));
    expect(left).toEqual(new Set());
  });
});
