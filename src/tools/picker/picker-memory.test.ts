// @suite apart
import type { OutgoingHttpHeaders } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { keptHeap } from '../../../test/support/kept-heap.ts';
import { processMethod } from '../../../test/support/picker-codec.ts';
import { untilHolds } from '../../../test/support/until-holds.ts';
import { systemClock } from '../../process/clock.ts';
import { listenPicker, type PickerServer } from './picker-server.ts';

const { path, requestSerialize, responseDeserialize } = processMethod<object>();
const healthPath = '/grpc.health.v1.Health/Check';
const mebibyte = 1024 * 1024;
const streams = 16;
const bytesEach = mebibyte;

let server: PickerServer;
let cut: string[];
const sessions: ClientHttp2Session[] = [];
/** Memory of the buffers of a server that nobody has called. Less than at the beginning, when what loads modules has buffers, too. */
let minBuffers = Infinity;

afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await server.close(0);
});

async function start(maxBuffered: number): Promise<void> {
  // Nothing of an earlier test is left.
  await untilHolds(() => expect(keptBuffers()).toBeLessThan(minBuffers + mebibyte));
  cut = [];
  server = await listenPicker({
    ...{ host: '127.0.0.1', port: 0, healthPort: 0, clock: systemClock, tls: undefined, maxBuffered },
    atTurnEnd: setImmediate,
    onCut: (sender) => cut.push(sender),
    picker: {
      pick: () => ({
        kind: 'picked',
        endpoints: ['10.0.0.1:8000'],
        answer: { head: () => undefined, body: () => undefined, ended: () => undefined },
      }),
    },
  });
  minBuffers = Math.min(minBuffers, keptBuffers());
}

function openSession(): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${server.port}`, { maxSessionMemory: 1000 });
  session.on('error', () => undefined);
  sessions.push(session);
  return session;
}

/** A call whose answer is not read until something listens for it. */
function call(session: ClientHttp2Session, at = path, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = session.request({
    ...{ ':method': 'POST', ':path': at, 'content-type': 'application/grpc', te: 'trailers' },
    ...headers,
  });
  stream.on('error', () => undefined);
  return stream;
}

function headOf(length: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return head;
}
const messages = (...all: readonly object[]): Buffer =>
  Buffer.concat(all.map(requestSerialize).flatMap((message) => [headOf(message.length), message]));

const manyBytes = Buffer.alloc(bytesEach, 'x');
const modes = { protocol_config: { request_body_mode: 4, response_body_mode: 4 } };
const requestHead = { ...modes, request_headers: { headers: { headers: [] } } };
const endedHead = { ...modes, request_headers: { headers: { headers: [] }, end_of_stream: true } };
// All streams send the same memory, so that what this process holds is what the server holds.
const incomplete = [headOf(10 * mebibyte), manyBytes];
const largeAnswer = [messages(endedHead, { response_body: { body: manyBytes } })];
const largeBody = [messages(requestHead, ...Array.from({ length: 11 }, () => ({ request_body: { body: manyBytes } })))];

/** Memory of the buffers that are still needed. */
function keptBuffers(): number {
  keptHeap();
  return process.memoryUsage().arrayBuffers;
}

/** What a gateway may send on each of its streams so that memory is held for it. */
const attacks = [
  ['messages that are not complete', path, incomplete],
  ['messages to the health service that are not complete', healthPath, incomplete],
  ['answers that it does not read', path, largeAnswer],
  ['large bodies that it does not read', path, largeBody],
] as const;

/** Resolves when everything is written. */
async function attack(session: ClientHttp2Session, at: string, pieces: readonly Buffer[]): Promise<void> {
  const written = Array.from({ length: streams }, () => {
    const stream = call(session, at);
    return pieces.map((piece) => new Promise((resolve) => stream.write(piece, resolve)));
  });
  await Promise.all(written.flat());
}

describe.each(attacks)('a gateway that sends %s', (_, at, pieces) => {
  it('loses its connection, and another gateway is answered', async () => {
    await start(4 * mebibyte);
    const neighbour = call(openSession());
    neighbour.write(messages(requestHead, { request_body: { body: Buffer.from('{}') } }));
    const attacker = openSession();
    const closed = new Promise((resolve) => attacker.once('close', resolve));
    void attack(attacker, at, pieces);
    await closed;
    expect(cut).toEqual(['address 127.0.0.1']);
    neighbour.write(messages({ request_body: { body: Buffer.from(' '), end_of_stream: true } }));
    const answer = await new Promise<Buffer>((resolve) => neighbour.once('data', resolve));
    expect(responseDeserialize(answer.subarray(5, 5 + answer.readUInt32BE(1)))).toHaveProperty('request_headers');
  });

  it('would hold memory without a bound', async () => {
    await start(Infinity);
    const attacker = openSession();
    await attack(attacker, at, pieces);
    await untilHolds(() => expect(keptBuffers() - minBuffers).toBeGreaterThan(streams * bytesEach * 0.9));
    expect([attacker.closed, cut]).toEqual([false, []]);
  });
});

it('a compressed message is refused before it is decompressed, and one that is not compressed is read', async () => {
  await start(4 * mebibyte);
  const session = openSession();
  const statusOf = (stream: ClientHttp2Stream): Promise<unknown> =>
    new Promise((resolve) => stream.once('response', (headers) => resolve(headers['grpc-status'])));
  const compressed = gzipSync(requestSerialize({ request_body: { body: manyBytes } }));
  const refused = call(session, path, { 'grpc-encoding': 'gzip' });
  refused.write(Buffer.concat([Buffer.from([1]), headOf(compressed.length).subarray(1), compressed]));
  expect(await statusOf(refused)).toBe('12');
  const read = call(session, path, { 'grpc-encoding': 'gzip' });
  read.write(messages(endedHead));
  expect(await statusOf(read)).toBeUndefined();
});
