import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { shapePath, type AnswerShape } from '../../bench/answers.ts';
import { chatRequest, expectedOf } from '../../bench/chat-request.ts';
import type { Address } from '../../bench/caller.ts';
import { startEngines } from '../../bench/engine-processes.ts';
import { type HeldStreams, holdStreams } from '../../bench/held-streams.ts';
import { openLoadPool } from '../../bench/load-pool.ts';
import { type Arrival, type LoadResult, percentileMs } from '../../bench/load.ts';
import { startPlainEnvoy } from '../../bench/plain-envoy.ts';
import { cpuMs } from '../../bench/process-usage.ts';
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
}

function run({ shape, stream, arrival, address }: Offer): Promise<LoadResult> {
  return pool.run({
    address: address ?? { host: '127.0.0.1', port: envoy.port },
    request: chatRequest({ path: shapePath(shape), model: 'bench/any', stream }),
    expected: expectedOf(shape, stream),
    arrival,
    leadSeconds: 0.2,
    seconds: 0.5,
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

describe('a load notices', () => {
  /** Answers each request with these bytes, right or wrong, and then ends the connection if told so. */
  async function runAgainst(bytes: string, ends: boolean): Promise<LoadResult> {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', () => (ends ? socket.end(bytes) : socket.write(bytes)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
      return await run({ shape: burst, stream: true, arrival: { kind: 'open', perSecond: 40 }, address });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
  const chunked = (body: string): string =>
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;

  test.each([
    ['a refusal', 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n', false, 'status 503'],
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
});
