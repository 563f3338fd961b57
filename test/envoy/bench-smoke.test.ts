import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { shapeName, shapePath, type AnswerShape } from '../../bench/answers.ts';
import { chatRequest, expectedOf, requestOfEngine } from '../../bench/chat-request.ts';
import type { Address } from '../../bench/caller.ts';
import { startEngines } from '../../bench/engine-processes.ts';
import { type HeldStreams, holdStreams } from '../../bench/held-streams.ts';
import { openLoadPool } from '../../bench/load-pool.ts';
import { type Arrival, type Load, type LoadResult, percentileMs } from '../../bench/load.ts';
import { startPlainEnvoy } from '../../bench/plain-envoy.ts';
import { startPeer } from '../../bench/peer.ts';
import { cpuMs, memoryOf, processTree } from '../../bench/process-usage.ts';
import type { Prompt } from '../../bench/prompts.ts';
import { findEnvoy } from '../../src/programs/local/find-envoy.ts';
import { untilHolds } from '../support/until-holds.ts';
import { forFile } from '../support/for-file.ts';

const burst: AnswerShape = { chunks: 100, pace: { kind: 'burst', writes: 4 }, reasoningChunks: 10 };
const apart: AnswerShape = { chunks: 20, pace: { kind: 'apart', gapMs: 10 }, reasoningChunks: 0 };
const slow: AnswerShape = { chunks: 20, pace: { kind: 'apart', gapMs: 5_000 }, reasoningChunks: 0 };
const closed: Arrival = { kind: 'closed', connections: 8 };

afterAll(() => rm(folder, { recursive: true, force: true }));
const folder = await mkdtemp(join(tmpdir(), 'weir-'));
const engines = await forFile(startEngines(1));
const binary = await findEnvoy({ env: process.env, report: () => {} });
const envoy = await forFile(startPlainEnvoy({ binary, folder, upstreamPorts: [engines.port], concurrency: 1 }));
const pool = await forFile(openLoadPool(2));

interface Offer {
  readonly shape: AnswerShape;
  readonly stream: boolean;
  readonly arrival: Arrival;
  readonly address?: Address;
  readonly prompt?: Prompt;
  readonly over?: Partial<Load>;
}

function run({ shape, stream, arrival, address, prompt, over }: Offer): Promise<LoadResult> {
  return pool.run({
    address: address ?? { host: '127.0.0.1', port: envoy.port },
    request: requestOfEngine({ path: shapePath(shape), model: 'bench/any', stream, prompt }),
    expected: expectedOf(shape, stream),
    arrival,
    leadSeconds: 0.2,
    seconds: 0.5,
    ...over,
  });
}

function hold(shape: AnswerShape, spacingMs: number): Promise<HeldStreams> {
  return holdStreams({
    address: { host: '127.0.0.1', port: envoy.port },
    request: chatRequest({ path: shapePath(shape), model: 'bench/any', stream: true }),
    expected: expectedOf(shape, true),
    count: 100,
    spacingMs,
    timeoutMs: 10_000,
  });
}

describe('a load through a plain Envoy', () => {
  test.each([
    ['JSON answers', { shape: burst, stream: false, arrival: closed }],
    ['streams in a burst', { shape: burst, stream: true, arrival: closed }],
    ['streams of chunks apart', { shape: apart, stream: true, arrival: closed }],
  ])('gets %s, every one right', async (_, offer) => {
    const result = await run(offer);
    expect(result.failures).toEqual({});
    expect(result.answers).toBeGreaterThan(10);
    expect(result.firstByte.count).toBe(result.answers);
    expect(percentileMs(result.firstByte, 50)).toBeGreaterThan(0);
  });

  test('offers the rate it is told, answers or not', async () => {
    // A busy machine may get some answers late.
    await untilHolds(async () => {
      const result = await run({ shape: burst, stream: true, arrival: { kind: 'open', perSecond: 100 } });
      expect(result.failures).toEqual({});
      expect(result.answers / result.seconds).toBeGreaterThan(80);
      expect(result.answers / result.seconds).toBeLessThan(120);
      const [second, ...later] = result.firstByteBySecond;
      expect(second?.count).toBeGreaterThan(40);
      expect(second?.count).toBeLessThan(60);
      expect(later).toEqual([]);
    });
  });

  test('sends conversations, and tells their first turns from the later ones', async () => {
    const prompt: Prompt = { surface: 'messages', bytes: 40_000, turns: 2 };
    const result = await run({ shape: burst, stream: false, arrival: closed, prompt });
    expect(result.failures).toEqual({});
    expect(result.opening.count).toBeGreaterThan(5);
    expect(result.following.count).toBeGreaterThan(5);
    expect(result.opening.count + result.following.count).toBe(result.answers);
  });

  test('holds slow streams open until it is told to close them', async () => {
    const held = await hold(slow, 1);
    expect(held.lost()).toBe(0);
    held.close();
  });

  test('does not hold streams when one of them ends before all are open', async () => {
    await expect(hold(burst, 20)).rejects.toThrow(/^only \d+ of 100 streams opened: one has ended$/);
  });

  test.runIf(process.platform === 'linux')("reads the processor time of Envoy's process", async () => {
    const before = (await cpuMs([envoy.pid])) ?? Number.NaN;
    await run({ shape: burst, stream: true, arrival: closed });
    expect(((await cpuMs([envoy.pid])) ?? Number.NaN) - before).toBeGreaterThan(0);
  });
});

describe('another gateway', () => {
  const proxy = `const { connect, createServer } = require('node:net');
    const server = createServer((caller) => {
      const engine = connect(Number(process.env.ENGINE_PORT), '127.0.0.1');
      caller.pipe(engine).pipe(caller);
      for (const [one, other] of [[caller, engine], [engine, caller]]) one.on('error', () => other.destroy());
    });
    server.listen(Number(process.env.PORT), '127.0.0.1');`;

  test('is started with its port and its engine, is checked and counted like the others, and ends with all its programs', async () => {
    // The shell stays as the parent, as it does for a script.
    const peer = await startPeer(`"${process.execPath}" -e "${proxy}"; true`, engines.port);
    try {
      const model = `bench/${shapeName(apart)}`;
      const result = await pool.run({
        address: { host: '127.0.0.1', port: peer.port },
        request: chatRequest({ path: '/v1', model, stream: true }),
        expected: expectedOf(apart, true),
        arrival: closed,
        ...{ leadSeconds: 0.2, seconds: 0.5 },
      });
      expect(result.failures).toEqual({});
      expect(result.answers).toBeGreaterThan(5);
      if (process.platform !== 'linux') return;
      const pids = (await processTree(peer.pid)).map(({ pid }) => pid);
      expect(pids).toHaveLength(2);
      expect(await cpuMs(pids)).toBeGreaterThan(0);
      expect((await memoryOf(pids))?.pssBytes).toBeGreaterThan(1_000_000);
    } finally {
      await peer.stop();
    }
    await untilHolds(async () => expect(await processTree(peer.pid)).toEqual([]));
  });

  test('that ends is refused with what it printed', async () => {
    await expect(startPeer('echo no such model; exit 3', engines.port)).rejects.toThrow('no such model');
  });
});

describe('a load notices', () => {
  /** Answers each request with these bytes, right or wrong, and then ends the connection if told so. */
  async function runAgainst(bytes: string, ends: boolean, over: Partial<Load> = {}): Promise<LoadResult> {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', () => (ends ? socket.end(bytes) : socket.write(bytes)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
      return await run({ shape: burst, stream: true, arrival: { kind: 'open', perSecond: 40 }, address, over });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
  const refusal = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n';
  const chunked = (body: string): string =>
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;

  test.each([
    ['a refusal', refusal, false, 'status 503'],
    ['a stream without its end', `${chunked('data: {}\n\n')}0\r\n\r\n`, false, 'no [DONE]'],
    [
      'a stream with other words',
      `${chunked('data: {}\n\ndata: [DONE]\n\n')}0\r\n\r\n`,
      false,
      'another text than the engine sent',
    ],
    ['a cut connection', chunked('data: {}\n\ndata: [DONE]\n\n'), true, 'cut'],
  ])('%s', async (_, bytes, ends, reason) => {
    expect((await runAgainst(bytes, ends)).failures[reason]).toBeGreaterThan(0);
  });

  test('that it is refused, which is no failure where a gateway may be full', async () => {
    const { refused, failures } = await runAgainst(refusal, false, { mayBeRefused: true });
    expect(refused).toBeGreaterThan(0);
    expect(failures).toEqual({});
  });
});
