import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UpstreamCall, UpstreamListener } from '../core/upstream.ts';
import { maxDecodedBytes } from './decode-answer.ts';
import { createEgress, type Egress } from './egress.ts';

/** A request as the engine has it, its body read. */
interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: string;
}

let folder: string;
let egress: Egress;
let stop: () => Promise<void>;
let asked: (() => Promise<Asked>) | undefined;
let connections = 0;
/** Calls upstream as Envoy counts them. */
let counted: { readonly active: number; readonly pending: number } | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-egress-'));
  const socketPath = join(folder, 'egress.sock');
  const waiting: Asked[] = [];
  const readers: ((each: Asked) => void)[] = [];
  const sockets = new Set<Socket>();
  connections = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const reader = readers.shift();
      if (reader === undefined) waiting.push({ request, response, body });
      else reader({ request, response, body });
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(socketPath);
  await once(server, 'listening');
  asked = () => {
    const ready = waiting.shift();
    return ready === undefined ? new Promise((resolve) => readers.push(resolve)) : Promise.resolve(ready);
  };
  counted = undefined;
  egress = createEgress({ socketPath, countUpstream: () => Promise.resolve(counted), atTurnEnd: setImmediate });
  stop = async () => {
    await egress.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
});

afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

const next = (): Promise<Asked> => asked?.() ?? Promise.reject(new Error('no engine'));
const usual: UpstreamCall = {
  cluster: 'c-1',
  authority: 'engine.svc:8000',
  path: '/v1/chat/completions',
  body: '{"é":1}',
  accept: 'text/event-stream',
};

/** A call, and what is reported of it as a list; `until` resolves at an entry that begins like this. */
function call(given: Partial<UpstreamCall> = {}) {
  const log: string[] = [];
  const waiting: { readonly begins: string; readonly resolve: () => void }[] = [];
  const tell = (entry: string): void => {
    log.push(entry);
    for (const { begins, resolve } of waiting) if (entry.startsWith(begins)) resolve();
  };
  const listener: UpstreamListener = {
    head: (status, header) => tell(`head ${status} ${header('content-type') ?? '-'}`),
    data: (bytes) => tell(`data ${Buffer.from(bytes).toString()}`),
    ended: () => tell('ended'),
    failed: (reason) => tell(`failed ${reason}`),
  };
  const stream = egress.call({ ...usual, ...given }, listener);
  const until = (begins: string): Promise<void> =>
    log.some((entry) => entry.startsWith(begins))
      ? Promise.resolve()
      : new Promise((resolve) => waiting.push({ begins, resolve }));
  return { log, until, stream };
}

describe('a call to an engine', () => {
  it('carries exactly the headers we mean', async () => {
    const { until } = call({ headers: [['authorization', 'Bearer secret']] });
    const { request, response, body } = await next();
    expect({ method: request.method, url: request.url, body }).toEqual({
      method: 'POST',
      url: '/v1/chat/completions',
      body: '{"é":1}',
    });
    const headers = Object.fromEntries(
      request.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? [[name.toLowerCase(), all[at + 1]]] : [])),
    );
    expect(request.rawHeaders).toHaveLength(2 * Object.keys(headers).length);
    expect(headers).toEqual({
      ...{
        host: 'engine.svc:8000',
        'x-weir-cluster': 'c-1',
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'accept-encoding': 'identity',
      },
      ...{ 'user-agent': 'weir', authorization: 'Bearer secret', 'content-length': '8', connection: 'keep-alive' },
    });
    response.end();
    await until('ended');
  });

  it('has the name of a client that the operator gives it, once', async () => {
    const { until } = call({ headers: [['user-agent', 'acme']] });
    const { request, response } = await next();
    expect(request.rawHeaders.filter((text) => /^(user-agent|weir|acme)$/i.test(text))).toEqual(['user-agent', 'acme']);
    response.end();
    await until('ended');
  });

  it('carries the trace that it belongs to', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const { until } = call({ traceparent });
    const { request, response } = await next();
    expect(request.headers['traceparent']).toBe(traceparent);
    response.end();
    await until('ended');
  });

  it('without a credential sends no authorization; bytes are sent as they are', async () => {
    const { until } = call({ body: new TextEncoder().encode('{"bytes":"é"}'), accept: 'application/json' });
    const { request, response, body } = await next();
    expect({ body, accept: request.headers.accept, authorization: request.headers.authorization }).toEqual({
      body: '{"bytes":"é"}',
      accept: 'application/json',
      authorization: undefined,
    });
    response.end();
    await until('ended');
  });

  it('is a GET without a body or anything that speaks of one, or a POST of another type', async () => {
    const get = call({ method: 'GET', path: '/p?q=1', body: '', headers: [['x-subscription-token', 'key']] });
    const got = await next();
    expect({ method: got.request.method, url: got.request.url, body: got.body }).toEqual({
      method: 'GET',
      url: '/p?q=1',
      body: '',
    });
    expect(got.request.headers).toMatchObject({ 'x-subscription-token': 'key', accept: 'text/event-stream' });
    for (const name of ['content-type', 'content-length', 'transfer-encoding']) {
      expect(got.request.headers).not.toHaveProperty(name);
    }
    got.response.end();
    await get.until('ended');
    const { until } = call({ contentType: 'application/x-www-form-urlencoded', body: 'q=ü' });
    const { request, response, body } = await next();
    expect({ body, type: request.headers['content-type'], length: request.headers['content-length'] }).toEqual({
      body: 'q=ü',
      type: 'application/x-www-form-urlencoded',
      length: '4',
    });
    response.end();
    await until('ended');
  });

  it('tells Envoy the digest for which the endpoint is chosen, where there is one', async () => {
    for (const [affinity, expected] of [['0123abcd', '0123abcd'] as const, [undefined, undefined] as const]) {
      const { until } = call(affinity === undefined ? {} : { affinity });
      const { request, response } = await next();
      expect(request.headers['x-weir-affinity']).toBe(expected);
      response.end();
      await until('ended');
    }
    const { log } = call({ affinity: 'a\r\nb: c' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual(['failed INVALID_REQUEST']);
  });

  it('reports head, data and end in order, and counts as in flight until then', async () => {
    const { log, until } = call();
    expect(egress.inFlight('c-1')).toBe(1);
    const { response } = await next();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    await until('head');
    response.write('a');
    await until('data a');
    response.end('b');
    await until('ended');
    expect(log).toEqual(['head 200 text/event-stream', 'data a', 'data b', 'ended']);
    expect({ ours: egress.inFlight('c-1'), other: egress.inFlight('c-2') }).toEqual({ ours: 0, other: 0 });
  });

  it('reports the answer proper, not what comes before it', async () => {
    const { log, until } = call();
    const { response } = await next();
    response.writeProcessing();
    response.writeEarlyHints({ link: '</x>; rel=preload' });
    response.writeHead(429, { 'content-type': 'application/json' }).end('{}');
    await until('ended');
    expect(log).toEqual(['head 429 application/json', 'data {}', 'ended']);
  });

  it('uses a connection again when its answer was read to the end', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const { until } = call();
      (await next()).response.end('whole');
      await until('ended');
      await closed();
    }
    expect(connections).toBe(1);
  });

  it('shares no connection with another call under way', async () => {
    const calls = [call(), call(), call()];
    const engines = await Promise.all(calls.map(next));
    expect({ connections, inFlight: egress.inFlight('c-1') }).toEqual({ connections: 3, inFlight: 3 });
    for (const { response } of engines) response.end();
    await Promise.all(calls.map(({ until }) => until('ended')));
    expect(egress.inFlight('c-1')).toBe(0);
  });
});

describe('whether a call is on a connection', () => {
  it.each([
    ['all have one', { active: 3, pending: 0 }, [true, true, true]],
    ['the latest waits for one', { active: 2, pending: 1 }, [true, true, false]],
    ['all wait for one', { active: 0, pending: 3 }, [false, false, false]],
    ['Envoy has not read the latest yet', { active: 2, pending: 0 }, [true, true, false]],
    ['Envoy says nothing', undefined, [false, false, false]],
  ])('is told by how many wait: %s', async (_, count, expected) => {
    const calls = [1, 2, 3].map(() => call({ backend: 'a' }));
    counted = count;
    expect(await Promise.all(calls.map(({ stream }) => stream.reached()))).toEqual(expected);
    for (const { stream } of calls) stream.abort();
    expect(await calls[0]?.stream.reached()).toBe(false);
  });
});

describe('a call that fails', () => {
  it('is reported once when the connection breaks before the head', async () => {
    const { log, until } = call();
    (await next()).request.socket.destroy();
    await until('failed');
    await closed();
    expect(log).toEqual([expect.stringMatching(/^failed [A-Z_]+$/)]);
    expect(egress.inFlight('c-1')).toBe(0);
  });

  it.each([
    ['of a declared length', { 'content-length': '100' }],
    ['of chunks', {}],
  ])('is reported once when a body %s is cut', async (_, headers) => {
    const { log, until } = call();
    const { request, response } = await next();
    response.writeHead(200, headers).write('part');
    await until('data part');
    request.socket.destroy();
    await until('failed');
    await closed();
    expect(log).toEqual(['head 200 -', 'data part', expect.stringMatching(/^failed [A-Z_]+$/)]);
  });

  it('is reported once when what comes is not HTTP', async () => {
    const { log, until } = call();
    (await next()).request.socket.end('CANARY this is not HTTP\r\n\r\n');
    await until('failed');
    await closed();
    expect(log).toHaveLength(1);
    expect(log[0]).not.toContain('CANARY');
  });

  it('is reported when no process listens', async () => {
    const alone = createEgress({ socketPath: join(folder, 'absent.sock'), atTurnEnd: setImmediate });
    const failed = Promise.withResolvers<string>();
    const nothing = (): never => {
      throw new Error('unexpected');
    };
    alone.call(usual, { head: nothing, data: nothing, ended: nothing, failed: failed.resolve });
    expect(await failed.promise).toBe('ENOENT');
    expect(alone.inFlight('c-1')).toBe(0);
    await alone.close();
  });

  it.each([
    ['authority', { authority: 'a\r\nx: y' }],
    ['path', { path: '/a b\n' }],
    ['path, which would end the first line', { path: '/p HTTP/1.1\r\nx: y' }],
    ['cluster', { cluster: 'c\r\nx: y' }],
    ['value of a header', { headers: [['x', 'a\r\nb: c']] }],
    ['name of a header', { headers: [['x: y\r\nz', 'a']] }],
  ] satisfies readonly (readonly [string, Partial<UpstreamCall>])[])(
    'is reported when its %s cannot be sent, and nothing is thrown',
    async (_, given) => {
      const { log, until } = call(given);
      await until('failed');
      expect({ log, inFlight: egress.inFlight('c-1'), connections }).toEqual({
        log: ['failed INVALID_REQUEST'],
        inFlight: 0,
        connections: 0,
      });
    },
  );

  it('is reported when egress was closed', async () => {
    await egress.close();
    const { log, until } = call();
    await until('failed');
    expect({ log: log.length, inFlight: egress.inFlight('c-1') }).toEqual({ log: 1, inFlight: 0 });
  });
});

describe('an encoded answer', () => {
  const codings = {
    gzip: gzipSync,
    'x-gzip': gzipSync,
    GZIP: gzipSync,
    'identity, gzip': gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  };

  it.each([...Object.entries(codings), ['deflate', deflateRawSync] as const])(
    'in %s is decoded',
    async (coding, encode) => {
      const { log, until } = call();
      const { response } = await next();
      response.writeHead(200, { 'content-encoding': coding }).end(encode('{"é":1}'));
      await until('ended');
      expect(log).toEqual(['head 200 -', 'data {"é":1}', 'ended']);
    },
  );

  it.each([
    ['gzip', createGzip, constants.Z_SYNC_FLUSH],
    ['deflate', createDeflate, constants.Z_SYNC_FLUSH],
    ['br', createBrotliCompress, constants.BROTLI_OPERATION_FLUSH],
    ['zstd', createZstdCompress, constants.ZSTD_e_flush],
  ] as const)('in %s is read piece by piece', async (coding, create, flush) => {
    const { log, until } = call();
    const { response } = await next();
    response.writeHead(200, { 'content-encoding': coding });
    const encoder = create();
    encoder.pipe(response);
    for (const piece of ['one', 'two']) {
      encoder.write(piece);
      encoder.flush(flush);
      await until(`data ${piece}`);
    }
    encoder.end();
    await until('ended');
    expect(log).toEqual(['head 200 -', 'data one', 'data two', 'ended']);
  });

  it.each([
    ['is cut', 'gzip', gzipSync('whole').subarray(0, 12), 'ENCODING'],
    ['is not encoded at all', 'gzip', Buffer.from('{"a":1}'), 'ENCODING'],
    ['is damaged', 'br', Buffer.from([255, 255, 255, 255]), 'ENCODING'],
    ['is in a coding of tomorrow', 'lzma', Buffer.from('x'), 'ENCODING'],
    ['is encoded twice', 'gzip, br', Buffer.from('x'), 'ENCODING'],
    ['becomes too large', 'gzip', gzipSync(Buffer.alloc(maxDecodedBytes + 1)), 'DECODED_SIZE'],
  ])('that %s fails the call, once', async (_, coding, body, reason) => {
    const failed = Promise.withResolvers<string>();
    let bytes = 0;
    egress.call(usual, {
      head: () => undefined,
      data: (piece) => (bytes += piece.length),
      ended: () => failed.resolve('ended'),
      failed: failed.resolve,
    });
    (await next()).response.writeHead(200, { 'content-encoding': coding }).end(body);
    expect(await failed.promise).toBe(reason);
    expect(bytes).toBeLessThanOrEqual(maxDecodedBytes);
    await closed();
    expect(egress.inFlight('c-1')).toBe(0);
  });

  it('without a body is empty', async () => {
    const { log, until } = call();
    (await next()).response.writeHead(200, { 'content-encoding': 'gzip' }).end();
    await until('ended');
    expect(log).toEqual(['head 200 -', 'ended']);
  });

  it('waits while its listener holds it, and goes on', async () => {
    const text = 'x'.repeat(1_000_000);
    const { log, until, stream } = call();
    stream.pause();
    (await next()).response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text));
    await until('head');
    await closed();
    const held = log.length;
    stream.resume();
    await until('ended');
    expect(held).toBeLessThan(3);
    expect(log.map((entry) => (entry.startsWith('data') ? entry.slice(5) : '')).join('')).toBe(text);
  });

  it('of a call that is given up is dropped', async () => {
    const { log, until, stream } = call();
    const { response } = await next();
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(gzipSync('whole').subarray(0, 12));
    await until('head');
    stream.abort();
    await closed();
    expect(log).toEqual(['head 200 -']);
  });
});

/** `once` of node:events would reject at an error before it. */
const socketClosed = ({ socket }: IncomingMessage): Promise<void> =>
  new Promise((resolve) => socket.on('close', () => resolve()));

/** Resolves after what is under way in this process has had its turn. */
async function closed(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('aborting a call', () => {
  it('before the head closes the connection, and reports nothing', async () => {
    const { log, stream } = call();
    const { request } = await next();
    const gone = socketClosed(request);
    stream.abort();
    expect(egress.inFlight('c-1')).toBe(0);
    await gone;
    await closed();
    expect(log).toEqual([]);
  });

  it('in the middle closes the connection, and reports nothing more', async () => {
    const { log, until, stream } = call();
    const { request, response } = await next();
    response.write('a');
    await until('data a');
    const gone = socketClosed(request);
    // The engine may notice only when it writes.
    response.on('error', () => undefined);
    request.socket.on('error', () => undefined);
    stream.abort();
    response.write('b');
    await gone;
    await closed();
    expect(log).toEqual(['head 200 -', 'data a']);
  });

  it('before it was sent sends nothing', async () => {
    const { log, stream } = call();
    stream.abort();
    const second = call({ path: '/second' });
    const { request, response } = await next();
    expect(request.url).toBe('/second');
    response.end();
    await second.until('ended');
    expect({ log, inFlight: egress.inFlight('c-1') }).toEqual({ log: [], inFlight: 0 });
  });

  it('twice, or after the end, is harmless, and so is holding back then', async () => {
    const { log, until, stream } = call();
    (await next()).response.end('a');
    await until('ended');
    await closed();
    stream.pause();
    stream.resume();
    stream.abort();
    stream.abort();
    const second = call();
    (await next()).response.end('b');
    await second.until('ended');
    expect({ log: log.length, connections, inFlight: egress.inFlight('c-1') }).toEqual({
      log: 3,
      connections: 1,
      inFlight: 0,
    });
  });

  it('while held back closes the connection too', async () => {
    const { until, stream } = call();
    const { request, response } = await next();
    response.write('a');
    await until('data a');
    stream.pause();
    const gone = socketClosed(request);
    stream.abort();
    await gone;
  });
});

describe('holding a call back', () => {
  /** More than all buffers on the way hold. */
  const megabytes = 64;

  it('makes the engine wait, and letting go brings every byte', async () => {
    let received = 0;
    const ended = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const stream = egress.call(usual, {
      head: () => undefined,
      data: (bytes) => {
        received += bytes.length;
        begun.resolve();
      },
      ended: ended.resolve,
      failed: (reason) => ended.reject(new Error(reason)),
    });
    const { response } = await next();
    response.write('x');
    await begun.promise;
    stream.pause();
    const piece = Buffer.alloc(1024 * 1024);
    // Node keeps what a full socket does not take.
    for (let written = 0; written < megabytes; written += 1) response.write(piece);
    await closed();
    expect(response.writableLength).toBeGreaterThan(32 * 1024 * 1024);
    expect(received).toBeLessThan(8 * 1024 * 1024);
    const held = received;
    await closed();
    expect(received).toBe(held);
    stream.resume();
    response.end();
    await ended.promise;
    expect(received).toBe(megabytes * 1024 * 1024 + 1);
  });

  it('before the head holds the body back', async () => {
    const { log, until, stream } = call();
    stream.pause();
    const { response } = await next();
    response.end('a');
    await until('head');
    await closed();
    expect(log).toEqual(['head 200 -']);
    stream.resume();
    await until('ended');
    expect(log).toEqual(['head 200 -', 'data a', 'ended']);
  });
});
