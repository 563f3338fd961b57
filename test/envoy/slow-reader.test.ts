import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { startWeir, type Weir } from '../support/weir.ts';

// What edge-slow-reader.test.ts shows of Envoy alone, of the whole gateway: answers of 100 MB, and nobody reads them.

const answerBytes = 100_000_000;
/** An unread answer of this size is written in a tenth of the time where nothing holds it back. */
const stoppedMs = 4000;
const mebibyte = 1024 * 1024;
/**
 * For one reader, Envoy and service together. What is measured is the memory of two processes that serve others meanwhile, so most of this
 * is room for their noise; edge-slow-reader.test.ts holds Envoy to the stated bound itself.
 */
const boundBytes = 40 * mebibyte;
/** The noise does not grow with the readers: one cost 4 to 67 MiB from run to run, and four 32 to 45 MiB. */
const readers = 4;

let engine: ProgrammableEngine;
let weir: Weir;

beforeAll(async () => {
  engine = await startProgrammableEngine({ name: 'alpha' });
  weir = await startWeir({ engines: [engine], unlimited: true });
});
afterAll(async () => {
  await weir.close();
  await engine.close();
});

function residentBytes(): number {
  const of = (pid: number): number =>
    Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  return of(weir.pid('service')) + of(weir.pid('envoy'));
}

/** Asks for the long answer and reads nothing after its head. */
function ask(): Promise<Socket> {
  const body = JSON.stringify({
    model: 'test/model',
    stream: true,
    messages: [{ role: 'user', content: `[[demo {"bytes":${answerBytes}}]]` }],
  });
  const head = [
    ...['POST /v1/chat/completions HTTP/1.1', 'Host: weir', 'Content-Type: application/json', 'Connection: close'],
    ...[`Authorization: Bearer ${weir.key}`, `Content-Length: ${body.length}`, '', ''],
  ].join('\r\n');
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(weir.origin).port), '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', () => {
      socket.pause();
      resolve(socket);
    });
    socket.write(head + body);
  });
}

const small = () => weir.chat({ model: 'test/model', messages: [{ role: 'user', content: '[[words=3]]' }] });

/** Long enough for the engine to write all of its answer, if anybody took it. */
async function serveOthers(): Promise<readonly number[]> {
  const served: number[] = [];
  for (const begun = performance.now(); performance.now() - begun < stoppedMs;) {
    const response = await small();
    await response.text();
    served.push(response.status);
  }
  return served;
}

test('readers who stop cost no more than the stated number of bytes each, and others are served meanwhile', async () => {
  // Buffers, caches and compiled code of a first long answer are nobody's in particular.
  const warm = await ask();
  warm.resume();
  await once(warm, 'close');
  await serveOthers();
  const before = residentBytes();

  const stopped = await Promise.all(Array.from({ length: readers }, ask));
  const served = await serveOthers();
  expect(new Set(served)).toEqual(new Set([200]));
  expect(engine.openRequests()).toBe(readers);
  // What a reader costs stays as long as the reader does. Garbage of the service goes when other requests need its memory.
  const grown = async (): Promise<number> => {
    await (await small()).text();
    return residentBytes() - before;
  };
  await expect.poll(grown).toBeLessThan(readers * boundBytes);
  expect(engine.openRequests()).toBe(readers);

  for (const socket of stopped) socket.destroy();
  await engine.until(() => engine.openRequests() === 0);
});
