import { once } from 'node:events';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, createServer } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Metadata, type ClientDuplexStream, credentials, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { holdConnections } from '../../../test/support/held-connections.ts';
import type { Exchange, Upload } from '../../core/exchange.ts';
import { asFailure, Failure } from '../../core/failure.ts';
import { systemClock } from '../../process/clock.ts';
import { type ExtProcServer, listenExtProc } from './server.ts';

// The generic codec speaks for Envoy: what it writes we must read, and it must read what we write.
const protoFile = fileURLToPath(new URL('../../../protos/ext_proc.proto', import.meta.url));
const { Process } = loadSync(protoFile, { keepCase: true, oneofs: true })[
  'envoy.service.ext_proc.v3.ExternalProcessor'
] as unknown as {
  Process: {
    path: string;
    requestSerialize: (message: object) => Buffer;
    responseDeserialize: (bytes: Buffer) => Answer;
  };
};

interface HeaderList {
  readonly headers: readonly { readonly key: string; readonly raw_value: Buffer }[];
}
interface Answer {
  readonly immediate_response?: {
    readonly status: { readonly code: number };
    readonly headers: { readonly set_headers: readonly { readonly header: HeaderList['headers'][number] }[] };
    readonly body?: Buffer;
  };
  readonly streamed_immediate_response?: {
    readonly headers_response?: { readonly headers: HeaderList; readonly end_of_stream?: boolean };
    readonly body_response?: { readonly body?: Buffer; readonly end_of_stream?: boolean };
  };
}

let folder: string;
let socketPath: string;
let server: ExtProcServer;
let client: Client;
let exchanges: Exchange[] = [];
let handle: (exchange: Exchange) => void;
let closed = false;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-extproc-'));
  socketPath = join(folder, 'extproc.sock');
  exchanges = [];
  handle = (exchange) => exchange.reply(200, [], 'ok');
  closed = false;
  server = await listen();
  client = new Client(`unix:${socketPath}`, credentials.createInsecure(), { 'grpc.max_receive_message_length': -1 });
});

afterEach(async () => {
  client.close();
  if (!closed) await server.close(0);
  await rm(folder, { recursive: true, force: true });
});

function listen(): Promise<ExtProcServer> {
  return listenExtProc({
    socketPath,
    strangers: { socketPath: join(folder, 'others.sock'), bounds: { maxConnections: 3 } },
    handle: (exchange) => {
      exchanges.push(exchange);
      handle(exchange);
    },
    openDelivery: () => ({ wrote: () => true, onRoom: (run) => run(), release: () => undefined }),
    atTurnEnd: setImmediate,
    clock: systemClock,
  });
}

/** A stream as Envoy opens one for each request. Messages are given as objects, or as the bytes they are. */
function open(metadata = new Metadata()) {
  const stream = client.makeBidiStreamRequest(
    Process.path,
    (message: object | Buffer) => (Buffer.isBuffer(message) ? message : Process.requestSerialize(message)),
    Process.responseDeserialize,
    metadata,
  );
  const answers: Answer[] = [];
  stream.on('data', (answer: Answer) => answers.push(answer));
  const ended = new Promise<string>((resolve) => {
    stream.on('error', (error: Error & { readonly code?: number }) => resolve(`error ${error.code}`));
    stream.on('end', () => resolve('end'));
  });
  const closedStream = new Promise<void>((resolve) => stream.on('close', resolve).on('status', () => resolve()));
  return { stream, answers, ended, closed: closedStream };
}

const head = (more: object = {}, extra: Readonly<Record<string, string>> = {}): object => ({
  request_headers: {
    headers: {
      headers: Object.entries({ ':method': 'POST', ':path': '/v1/chat/completions?x=1', 'x-a': 'one', ...extra }).map(
        ([key, value]) => ({ key, raw_value: Buffer.from(value) }),
      ),
    },
    ...more,
  },
});
const piece = (text: string | Buffer, end = false): object => ({
  request_body: { body: Buffer.from(text), end_of_stream: end },
});

/** The answer as a client gets it, in either way that it may be sent. */
function read(answers: readonly Answer[]): {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ends: number;
} {
  let status = 0;
  const headers: Record<string, string> = {};
  let body = '';
  let ends = 0;
  const put = ({ key, raw_value: value }: HeaderList['headers'][number]): void => {
    if (key === ':status') status = Number(value.toString());
    else headers[key] = value.toString();
  };
  for (const { immediate_response: whole, streamed_immediate_response: part } of answers) {
    if (whole !== undefined && whole !== null) {
      status = whole.status.code;
      for (const { header } of whole.headers?.set_headers ?? []) put(header);
      body += whole.body?.toString() ?? '';
      ends += 1;
    }
    for (const each of part?.headers_response?.headers.headers ?? []) put(each);
    body += part?.body_response?.body?.toString() ?? '';
    if (part?.body_response?.end_of_stream === true || part?.headers_response?.end_of_stream === true) ends += 1;
  }
  return { status, headers, body, ends };
}

/** Waits, a turn of the loop at a time, until what must come to pass has. */
async function eventually(holds: () => boolean, what: string): Promise<void> {
  for (let turn = 0; turn < 5000; turn += 1) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never came to pass: ${what}`);
}

/** A connection as Envoy makes one, without a gRPC client that would hide what becomes of it. */
function connectHttp2(path = socketPath): ClientHttp2Session {
  const session = connect('http://extproc', { createConnection: () => connectSocket(path) });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

function openOn(session: ClientHttp2Session): ClientHttp2Stream {
  const stream = session.request({
    ...{ ':method': 'POST', ':path': Process.path, 'content-type': 'application/grpc', te: 'trailers' },
  });
  stream.on('error', () => undefined);
  return stream;
}

/** A message with gRPC's five bytes before it. */
function framed(message: object): Buffer {
  const bytes = Process.requestSerialize(message);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const noneOpen = (): Promise<void> => eventually(() => server.open() === 0, 'no stream is open');

describe('a request', () => {
  it('has the trace that Envoy names in the metadata of the stream, and not in a header of the caller', async () => {
    handle = (exchange) => exchange.reply(200, [], exchange.head.traceparent?.() ?? 'none');
    const metadata = new Metadata();
    metadata.set('traceparent', 'of Envoy');
    const bodies: string[] = [];
    for (const each of [metadata, new Metadata()]) {
      const { stream, answers, ended } = open(each);
      stream.write(head({ end_of_stream: true }, { traceparent: 'of the caller' }));
      expect(await ended).toBe('end');
      stream.end();
      bodies.push(read(answers).body);
    }
    expect(bodies).toEqual(['of Envoy', 'none']);
  });

  it('comes as its head and its whole body, and gets a whole answer', async () => {
    const bodies: string[] = [];
    handle = (exchange) =>
      void exchange.body(100).then((body) => {
        bodies.push(Buffer.from(body).toString());
        exchange.reply(
          400,
          [
            ['content-type', 'application/json'],
            ['x-b', 'é'],
          ],
          '{"é":1}',
        );
      });
    const { stream, answers, ended } = open();
    stream.write(head());
    stream.write(piece('{"a"'));
    stream.write(piece(''));
    stream.write(piece(':1}', true));
    expect(await ended).toBe('end');
    stream.end();
    const [exchange] = exchanges;
    expect({
      ...exchange?.head,
      header: ['x-a', 'x-b', 'X-A'].map((name) => exchange?.head.header(name)),
    }).toMatchObject({
      ...{ method: 'POST', path: '/v1/chat/completions?x=1', header: ['one', undefined, undefined] },
    });
    expect(bodies).toEqual(['{"a":1}']);
    expect(read(answers)).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/json', 'x-b': 'é' },
      body: '{"é":1}',
      ends: 1,
    });
    expect(exchange?.signal.aborted).toBe(false);
    await noneOpen();
  });

  it('comes from the address that Envoy tells', async () => {
    const { stream, ended } = open();
    stream.write(head({ end_of_stream: true }, { 'x-weir-client-address': '203.0.113.7' }));
    expect(await ended).toBe('end');
    stream.end();
    expect(exchanges.map((exchange) => exchange.head.address)).toEqual(['203.0.113.7']);
    await noneOpen();
  });

  it('without a body is whole with its head', async () => {
    handle = (exchange) => void exchange.body(100).then((body) => exchange.reply(200, [], `${body.length}`));
    const { stream, answers, ended } = open();
    stream.write(head({ end_of_stream: true }));
    await ended;
    expect(read(answers).body).toBe('0');
    stream.end();
  });

  it('is whole with its trailers', async () => {
    handle = (exchange) =>
      void exchange.body(100).then((body) => exchange.reply(200, [], Buffer.from(body).toString()));
    const { stream, answers, ended } = open();
    stream.write(head());
    stream.write(piece('abc'));
    stream.write({ request_trailers: { trailers: { headers: [] } } });
    await ended;
    expect(read(answers).body).toBe('abc');
    stream.end();
  });

  it('gets a streamed answer piece by piece, with one end', async () => {
    handle = (exchange) => {
      exchange.start(200, [['content-type', 'text/event-stream']]);
      exchange.start(500, []);
      exchange.reply(500, [], 'second');
      exchange.write('data: a\n\n');
      exchange.write('data: é\n\n');
      exchange.end('data: [DONE]\n\n');
      exchange.end('again');
      exchange.write('after');
    };
    const { stream, answers, ended } = open();
    stream.write(head({ end_of_stream: true }));
    expect(await ended).toBe('end');
    expect(read(answers)).toEqual({
      ...{
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: 'data: a\n\ndata: é\n\ndata: [DONE]\n\n',
        ends: 1,
      },
    });
    stream.end();
    await noneOpen();
    expect(exchanges[0]?.signal.aborted).toBe(false);
  });

  it('shares its connection with many others, and each gets its own answer', async () => {
    handle = (exchange) =>
      void exchange.body(1000).then((body) => exchange.reply(200, [], Buffer.from(body).toString()));
    const streams = Array.from({ length: 50 }, () => open());
    streams.forEach(({ stream }, index) => {
      stream.write(head());
      stream.write(piece(`body ${index}`, true));
    });
    await Promise.all(streams.map(({ ended }) => ended));
    expect(streams.map(({ answers }) => read(answers).body)).toEqual(streams.map((_, index) => `body ${index}`));
    for (const { stream } of streams) stream.end();
    await noneOpen();
  });
});

describe('a large message', () => {
  it('may be the first one, of more bytes than the window of a stream', async () => {
    const { stream, answers, ended } = open();
    stream.write(head({ end_of_stream: true }, { 'x-large': 'x'.repeat(400_000) }));
    expect(await ended).toBe('end');
    expect(read(answers).body).toBe('ok');
    expect(exchanges[0]?.head.header('x-large')).toHaveLength(400_000);
    stream.end();
  });

  it('of over 4 MiB ends its stream', async () => {
    const { stream, ended } = open();
    stream.write(piece(Buffer.alloc(4 * 1024 * 1024)));
    expect(await ended).toBe(`error ${status.RESOURCE_EXHAUSTED}`);
    await noneOpen();
  });

  it('may be an answer of any size', async () => {
    const body = 'x'.repeat(20_000_000);
    handle = (exchange) => exchange.reply(200, [], body);
    const { stream, answers, ended } = open();
    stream.write(head({ end_of_stream: true }));
    expect(await ended).toBe('end');
    expect(read(answers).body).toBe(body);
    stream.end();
  });
});

describe('an upload that nobody has asked for yet', () => {
  it('stays with its sender but for a little, holds up no other request, and comes when it is asked for', async () => {
    const session = connectHttp2();
    const pieces = 40;
    const pieceBytes = 48 * 1024;
    const asked = Promise.withResolvers<void>();
    const bodies: number[] = [];
    handle = (exchange) => {
      if (exchange.head.header('x-small') !== undefined) exchange.reply(200, [], 'ok');
      else void asked.promise.then(async () => bodies.push((await exchange.body(Infinity)).length));
    };
    const upload = openOn(session);
    let gone = 0;
    upload.write(framed(head()));
    for (let count = 1; count <= pieces; count += 1) {
      upload.write(framed(piece(Buffer.alloc(pieceBytes), count === pieces)), () => (gone += 1));
    }
    await eventually(() => exchanges.length === 1, 'the head has come');
    const small = openOn(session);
    small.end(framed(head({ end_of_stream: true }, { 'x-small': 'yes' })));
    await once(small, 'response');
    small.resume();
    await once(small, 'end');
    // What is read, what is in the window of the stream, and in Node's buffer of it.
    expect(gone * pieceBytes).toBeLessThanOrEqual(256 * 1024);
    asked.resolve();
    await eventually(() => bodies.length === 1, 'the body has come');
    expect(bodies).toEqual([pieces * pieceBytes]);
  });

  it('comes in its order, also where several messages wait together', async () => {
    const session = connectHttp2();
    const asked = Promise.withResolvers<void>();
    const bodies: string[] = [];
    handle = (exchange) => {
      if (exchange.head.header('x-small') !== undefined) exchange.reply(200, [], 'ok');
      else void asked.promise.then(async () => bodies.push(Buffer.from(await exchange.body(Infinity)).toString()));
    };
    const upload = openOn(session);
    const numbers = Array.from({ length: 20 }, (_, number) => `${number} `);
    // After the first piece, nothing is read until the body is asked for.
    const messages = [
      head(),
      piece('a'.repeat(64 * 1024)),
      ...numbers.map((number) => piece(number)),
      piece('end', true),
    ];
    const sent = Promise.withResolvers<void>();
    upload.write(Buffer.concat(messages.map(framed)), () => sent.resolve());
    await sent.promise;
    const small = openOn(session);
    small.end(framed(head({ end_of_stream: true }, { 'x-small': 'yes' })));
    await once(small, 'response');
    small.resume();
    await once(small, 'end');
    asked.resolve();
    await eventually(() => bodies.length === 1, 'the body has come');
    expect(bodies[0]?.replace(/^a+/, '')).toBe(`${numbers.join('')}end`);
  });
});

describe('a body over its limit', () => {
  const pieces = [piece('x'.repeat(60)), piece('x'.repeat(60)), piece('x'.repeat(60))];

  it('is refused as soon as it is passed, before the end has come', async () => {
    const failures: unknown[] = [];
    handle = (exchange) =>
      void exchange.body(100).catch((error: unknown) => {
        failures.push(error);
        exchange.reply(413, [], 'too large');
      });
    const { stream, answers, ended } = open();
    stream.write(head());
    for (const each of pieces) stream.write(each);
    expect(await ended).toBe('end');
    expect(failures).toMatchObject([{ code: 'body_too_large' }]);
    expect(read(answers)).toMatchObject({ status: 413, body: 'too large' });
    stream.end();
    await noneOpen();
  });

  it('of exactly the limit is not over it', async () => {
    handle = (exchange) => void exchange.body(120).then((body) => exchange.reply(200, [], `${body.length}`));
    const { stream, answers, ended } = open();
    stream.write(head());
    stream.write(piece('x'.repeat(60)));
    stream.write(piece('x'.repeat(60), true));
    await ended;
    expect(read(answers).body).toBe('120');
    stream.end();
  });

  it('is refused too when it came before anybody asked for it', async () => {
    const asked = Promise.withResolvers<void>();
    handle = (exchange) =>
      void asked.promise
        .then(() => exchange.body(100))
        .catch((error: { code: string }) => exchange.reply(413, [], error.code));
    const { stream, answers, ended } = open();
    stream.write(head());
    for (const each of pieces) stream.write(each);
    stream.write(piece('', true));
    await eventually(() => exchanges.length === 1, 'the head has come');
    await new Promise((resolve) => setImmediate(resolve));
    asked.resolve();
    await ended;
    expect(read(answers).body).toBe('body_too_large');
    stream.end();
  });
});

describe('a caller who leaves', () => {
  const leavings: readonly (readonly [
    how: string,
    leave: (stream: ClientDuplexStream<object | Buffer, Answer>) => void,
  ])[] = [
    ['cancels', (stream) => stream.cancel()],
    ['half-closes', (stream) => stream.end()],
  ];
  it.each(leavings)('who %s before the answer aborts the exchange', async (_, leave) => {
    const left = Promise.withResolvers<void>();
    handle = ({ signal }) => signal.addEventListener('abort', () => left.resolve());
    const { stream, closed: gone } = open();
    stream.write(head({ end_of_stream: true }));
    await eventually(() => exchanges.length === 1, 'the head has come');
    leave(stream);
    await left.promise;
    await gone;
    expect(exchanges[0]?.signal.aborted).toBe(true);
    await noneOpen();
  });

  it.each(leavings)(
    'who %s in the middle of the answer aborts the exchange, and what is written then goes nowhere',
    async (_, leave) => {
      const left = Promise.withResolvers<void>();
      handle = (exchange) => {
        exchange.signal.addEventListener('abort', () => left.resolve());
        exchange.start(200, []);
        exchange.write('a');
      };
      const { stream, answers, closed: gone } = open();
      stream.write(head({ end_of_stream: true }));
      await eventually(() => read(answers).body === 'a', 'the first piece has come');
      leave(stream);
      await left.promise;
      const [exchange] = exchanges;
      expect(exchange?.started()).toBe(false);
      exchange?.write('b');
      exchange?.end('c');
      exchange?.reply(500, [], 'd');
      await gone;
      expect(read(answers).body).toBe('a');
      await noneOpen();
    },
  );

  it.each(leavings)(
    'who %s in the middle of the body ends the wait for it with the reason of the signal',
    async (_, leave) => {
      const failures: unknown[] = [];
      handle = (exchange) => void exchange.body(100).catch((error: unknown) => failures.push(error));
      const { stream, closed: gone } = open();
      stream.write(head());
      stream.write(piece('abc'));
      await eventually(() => exchanges.length === 1, 'the head has come');
      leave(stream);
      await gone;
      await eventually(() => failures.length === 1, 'the wait has ended');
      expect(failures).toEqual([exchanges[0]?.signal.reason]);
      await noneOpen();
    },
  );
});

describe('the account of an upload', () => {
  /** An account that notes what it is told, and refuses more than so many bytes. */
  function createAccount(maxBytes = Infinity) {
    const told: string[] = [];
    let expire: (failure: Failure) => void = () => undefined;
    const upload: Upload = {
      begin: (arrival) => {
        told.push('begin');
        expire = arrival.expire;
        arrival.read();
      },
      hold: (bytes) => {
        told.push(`hold ${bytes}`);
        if (bytes > maxBytes) throw new Failure('rate_limited', 'Too much.');
      },
      complete: () => void told.push('complete'),
      read: () => true,
      close: () => void told.push('close'),
    };
    return { upload, told, expire: (failure: Failure) => expire(failure) };
  }
  const replyWith = (exchange: Exchange, upload: Upload): void =>
    void exchange.body(100, upload).then(
      (body) => exchange.reply(200, [], `${body.length}`),
      (error: unknown) => exchange.reply(asFailure(error).row.status, [], asFailure(error).message),
    );

  it('is told what is held before it is, and when all has arrived', async () => {
    const { upload, told } = createAccount();
    handle = (exchange) => replyWith(exchange, upload);
    const { stream, answers, ended } = open();
    stream.write(head());
    stream.write(piece('abc'));
    await eventually(() => told.includes('hold 3'), 'the first piece has come');
    stream.write(piece('de', true));
    await ended;
    expect(read(answers).body).toBe('5');
    expect(told.filter((each) => each !== 'hold 0')).toEqual(['begin', 'hold 3', 'hold 5', 'complete']);
  });

  it('ends the wait with its refusal, and nothing more is held', async () => {
    const { upload, told } = createAccount(4);
    handle = (exchange) => replyWith(exchange, upload);
    const { stream, answers, ended } = open();
    stream.write(head());
    stream.write(piece('abc'));
    stream.write(piece('de'));
    stream.write(piece('fg'));
    await ended;
    expect([read(answers).status, read(answers).body]).toEqual([429, 'Too much.']);
    expect(told.at(-1)).toBe('hold 5');
  });

  it('ends the wait when its time is over', async () => {
    const { upload, told, expire } = createAccount();
    handle = (exchange) => replyWith(exchange, upload);
    const { stream, answers, ended } = open();
    stream.write(head());
    await eventually(() => told.includes('begin'), 'the body is waited for');
    expire(new Failure('invalid_request', 'Too late.'));
    await ended;
    expect([read(answers).status, read(answers).body]).toEqual([400, 'Too late.']);
  });
});

it('a caller who left before its body was asked for is not waited for', async () => {
  handle = () => undefined;
  const { stream, closed: gone } = open();
  stream.write(head());
  await eventually(() => exchanges.length === 1, 'the head has come');
  stream.cancel();
  await gone;
  await eventually(() => exchanges[0]?.signal.aborted === true, 'the caller has left');
  await expect(exchanges[0]?.body(100)).rejects.toBe(exchanges[0]?.signal.reason);
  await noneOpen();
});

describe('messages that make no sense', () => {
  it.each([
    ['bytes that are no message', Buffer.from([0xff, 0xff, 0xff])],
    ['a message that ends inside a field', Buffer.from([0x12, 0x05, 0x0a])],
  ])('%s end their own stream and no other', async (_, bytes) => {
    handle = (exchange) =>
      void exchange.body(100).then(
        (body) => exchange.reply(200, [], Buffer.from(body).toString()),
        () => undefined,
      );
    const good = open();
    good.stream.write(head());
    await eventually(() => exchanges.length === 1, 'the good head has come');
    for (const before of [[], [head()]]) {
      const odd = open();
      for (const message of before) odd.stream.write(message);
      odd.stream.write(bytes);
      expect(await odd.ended).toMatch(/^error/);
    }
    good.stream.write(piece('fine', true));
    expect(await good.ended).toBe('end');
    expect(read(good.answers).body).toBe('fine');
    good.stream.end();
    await noneOpen();
  });

  it('a body before any head, messages of other kinds, and an end without anything are survived', async () => {
    const odd = open();
    odd.stream.write({});
    odd.stream.write(piece('early', true));
    odd.stream.write({ request_trailers: {} });
    odd.stream.end();
    expect(await odd.ended).toBe('end');
    const empty = open();
    empty.stream.end();
    expect(await empty.ended).toBe('end');
    expect(exchanges).toEqual([]);
    await noneOpen();
  });

  it('a second head does not make a second request', async () => {
    const left = Promise.withResolvers<void>();
    handle = ({ signal }) => signal.addEventListener('abort', () => left.resolve());
    const { stream, closed: gone } = open();
    stream.write(head());
    stream.write(head());
    stream.write(piece('x', true));
    await eventually(() => exchanges.length > 0, 'the head has come');
    await new Promise((resolve) => setImmediate(resolve));
    expect(exchanges).toHaveLength(1);
    stream.cancel();
    await left.promise;
    await gone;
    await noneOpen();
  });
});

describe('a connection', () => {
  it('says that it takes more streams than any machine, and a window that one upload does not fill', async () => {
    const session = connectHttp2();
    const [settings]: unknown[] = await once(session, 'remoteSettings');
    expect(settings).toMatchObject({ maxConcurrentStreams: 1_000_000 });
    await eventually(() => (session.state.remoteWindowSize ?? 0) > 16_000_000, 'the window is wide');
  });

  const resets = 2_000;
  /** Opens streams and resets each, as an Envoy does that was not told to end them gracefully. */
  async function resetMany(session: ClientHttp2Session): Promise<void> {
    for (let count = 0; count < resets && !session.destroyed; count += 1) {
      const stream = openOn(session);
      stream.write(framed(head()));
      await new Promise((resolve) => setImmediate(resolve));
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  it('bears any number of resets', async () => {
    handle = (exchange) => exchange.start(200, []);
    const session = connectHttp2();
    const staying = openOn(session);
    staying.write(framed(head({ end_of_stream: true })));
    await eventually(() => exchanges.length === 1, 'the head has come');
    await resetMany(session);
    await eventually(() => server.open() === 1, 'all others have left');
    exchanges[0]?.end('still here');
    const [, pieces] = await Promise.all([once(staying, 'end'), staying.toArray()]);
    expect(Buffer.concat(pieces).toString()).toContain('still here');
  });

  it('of node:http2 as it is ends when half as many streams were reset', async () => {
    const path = join(folder, 'plain.sock');
    const plain = createServer();
    plain.on('stream', (stream) => stream.on('error', () => undefined));
    plain.listen(path);
    onTestFinished(() => void plain.close());
    const session = connectHttp2(path);
    const goAway = once(session, 'goaway');
    await resetMany(session);
    expect((await goAway)[0]).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });

  it('that is lost is what its calls ended of, and a call that is cancelled ended of itself', async () => {
    handle = (exchange) => exchange.start(200, []);
    const [losing, staying] = [connectHttp2(), connectHttp2()];
    for (const session of [losing, losing, staying]) openOn(session).write(framed(head({ end_of_stream: true })));
    const leaving = openOn(staying);
    leaving.write(framed(head({ end_of_stream: true }, { 'x-leaves': 'yes' })));
    await eventually(() => exchanges.length === 4, 'all heads have come');
    const leaves = (exchange: Exchange): boolean => exchange.head.header('x-leaves') !== undefined;
    leaving.close(constants.NGHTTP2_CANCEL);
    losing.destroy();
    await eventually(() => server.open() === 1, 'three are over');
    const ended = exchanges.filter(({ signal }) => signal.aborted);
    expect(ended.filter(leaves)).toHaveLength(1);
    expect(await Promise.all(ended.map(async (exchange) => [leaves(exchange), await exchange.lost()]))).toEqual(
      ended.map((exchange) => [leaves(exchange), !leaves(exchange)]),
    );
  });

  it('on which no HTTP/2 is spoken is closed, and harms no other', async () => {
    handle = (exchange) => exchange.start(200, []);
    const { stream, answers, ended } = open();
    stream.write(head({ end_of_stream: true }));
    await eventually(() => exchanges.length === 1, 'the head has come');
    const odd = connectSocket(socketPath);
    odd.on('error', () => undefined);
    odd.resume();
    odd.write('GET / HTTP/1.1\r\n\r\n');
    await once(odd, 'close');
    exchanges[0]?.end('fine');
    expect(await ended).toBe('end');
    expect(read(answers).body).toBe('fine');
    stream.end();
  });
});

it('a handler that throws ends its own stream and no other', async () => {
  handle = (exchange) => {
    if (exchange.head.header('x-bad') !== undefined) throw new Error('CANARY');
    exchange.reply(200, [], 'fine');
  };
  const bad = open();
  bad.stream.write(head({ end_of_stream: true }, { 'x-bad': 'yes' }));
  const good = open();
  good.stream.write(head({ end_of_stream: true }));
  expect(await bad.ended).toBe(`error ${status.INTERNAL}`);
  expect(await good.ended).toBe('end');
  expect(read(good.answers).body).toBe('fine');
  good.stream.end();
  await noneOpen();
  expect(exchanges.filter(({ signal }) => signal.aborted).map(({ head: sent }) => sent.header('x-bad'))).toEqual([
    'yes',
  ]);
});

describe('closing', () => {
  it('waits for the streams that are open, and takes the socket away', async () => {
    handle = (exchange) => exchange.start(200, []);
    const { stream, answers, ended } = open();
    stream.write(head({ end_of_stream: true }));
    await eventually(() => exchanges.length === 1, 'the head has come');
    closed = true;
    let over = false;
    const closing = server.close(60_000).then(() => (over = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect({ over, aborted: exchanges[0]?.signal.aborted }).toEqual({ over: false, aborted: false });
    const late = open();
    late.stream.write(head({ end_of_stream: true }));
    expect(await late.ended).toBe(`error ${status.UNAVAILABLE}`);
    exchanges[0]?.end('all of it');
    expect(await ended).toBe('end');
    expect(read(answers).body).toBe('all of it');
    stream.end();
    client.close();
    await closing;
    await expect(access(socketPath)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('cuts what is left after the grace', async () => {
    const left = Promise.withResolvers<void>();
    handle = (exchange) => {
      exchange.signal.addEventListener('abort', () => left.resolve());
      exchange.start(200, []);
    };
    const { stream, ended } = open();
    stream.write(head({ end_of_stream: true }));
    await eventually(() => exchanges.length === 1, 'the head has come');
    closed = true;
    await server.close(20);
    expect(await ended).toMatch(/^error/);
    await left.promise;
    await noneOpen();
  });
});

it('takes over a socket file that a killed process left behind', async () => {
  await server.close(0);
  await writeFile(socketPath, '');
  server = await listen();
  const { stream, answers, ended } = open();
  stream.write(head({ end_of_stream: true }));
  await ended;
  expect(read(answers).body).toBe('ok');
  stream.end();
});

it('tells when a caller is slow, and when there is room again', async () => {
  const drained = Promise.withResolvers<void>();
  const full = Promise.withResolvers<number>();
  handle = (exchange) => {
    exchange.start(200, []);
    let written = 0;
    while (exchange.write('x'.repeat(64 * 1024)) && written < 1000) written += 1;
    full.resolve(written);
    exchange.onDrain(() => {
      exchange.end('');
      drained.resolve();
    });
  };
  const { stream, answers, ended } = open();
  stream.pause();
  stream.write(head({ end_of_stream: true }));
  expect(await full.promise).toBeLessThan(100);
  stream.resume();
  await drained.promise;
  expect(await ended).toBe('end');
  expect(read(answers).ends).toBe(1);
  stream.end();
});

describe('the headers with a meaning inside the gateway', () => {
  const forged = {
    'x-weir-received': '1780000000000',
    'x-weir-client-address': '203.0.113.7',
    'x-weir-client-connection': '203.0.113.7:40312 HTTP/1.1',
    'x-weir-cluster': 'another',
  };

  /** The head of a request with these headers that comes over a socket. */
  async function headOver(socket: string): Promise<Exchange['head']> {
    const sender = new Client(`unix:${join(folder, socket)}`, credentials.createInsecure());
    const stream = sender.makeBidiStreamRequest(Process.path, Process.requestSerialize, Process.responseDeserialize);
    stream.write(head({ end_of_stream: true }, { ...forged, 'x-weir-tags': 'team=search' }));
    await once(stream, 'data');
    sender.close();
    const { head: received } = exchanges.at(-1) ?? expect.unreachable();
    return received;
  }

  it('are not believed where anybody may speak, except for the tags of callers', async () => {
    const { address, header } = await headOver('others.sock');
    expect(address).toBeUndefined();
    for (const name of Object.keys(forged)) expect(header(name)).toBeUndefined();
    expect([header('x-weir-tags'), header('x-a')]).toEqual(['team=search', 'one']);
  });

  it('are believed over the socket that only our own Envoy reaches', async () => {
    const { address, header } = await headOver('extproc.sock');
    expect(address).toBe('203.0.113.7');
    for (const [name, value] of Object.entries(forged)) expect(header(name)).toBe(value);
  });
});

describe('silent connections', () => {
  it('make room for another Envoy where anybody may speak, beyond the bound', async () => {
    const path = join(folder, 'others.sock');
    const held = await holdConnections(path, 5);
    await held.closed(2);
    const session = connect('http://weir', { createConnection: () => connectSocket(path) });
    onTestFinished(() => session.destroy());
    await once(session, 'remoteSettings');
    await held.closed(3);
    expect(held.open()).toBe(2);
    held.release();
  });

  it('are all held where only our own Envoy speaks, so that none of its threads is refused', async () => {
    const held = await holdConnections(socketPath, 5);
    const { stream, answers, ended } = open();
    stream.write(head({ end_of_stream: true }));
    stream.end();
    await ended;
    expect([answers.length > 0, held.open()]).toEqual([true, 5]);
    held.release();
  });
});
