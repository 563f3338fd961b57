import { Readable } from 'node:stream';
import type { ServerHttp2Stream } from 'node:http2';
import { beforeEach, expect, it } from 'vitest';
import { type BufferedMemory, type ConnectionMemory, createBufferedMemory } from './buffered-memory.ts';

let memory: BufferedMemory;
let cut: string[];

beforeEach(() => {
  memory = createBufferedMemory(1_000_000);
  cut = [];
});

const join = (name: string, sender = name): ConnectionMemory => memory.join(sender, () => cut.push(name));

/** A stream that nobody reads. */
function open(connection: ConnectionMemory): ServerHttp2Stream {
  const stream = new Readable({ read: () => undefined }) as ServerHttp2Stream;
  connection.follow(stream);
  return stream;
}

function receive(stream: ServerHttp2Stream, bytes: number): void {
  stream.push(Buffer.alloc(bytes));
}

it('cuts the connection that holds most, of the sender that holds most', () => {
  const gateway = open(join('gateway'));
  for (const [index, bytes] of [200_000, 250_000, 200_000].entries()) {
    receive(open(join(`stranger ${index}`, 'stranger')), bytes);
  }
  receive(gateway, 300_000);
  expect(cut).toEqual([]);
  receive(gateway, 100_000);
  expect(cut).toEqual(['stranger 1']);
});

it('counts a message until it is handed over, and what has come after it until then', () => {
  const connection = join('gateway');
  const stream = open(connection);
  for (let message = 0; message < 10; message += 1) {
    receive(stream, 400_000);
    stream.read();
    connection.of(stream)?.handedOver();
  }
  expect(cut).toEqual([]);
  receive(stream, 600_000);
  connection.of(stream)?.handedOver();
  receive(stream, 600_000);
  expect(cut).toEqual(['gateway']);
});

it('counts what waits to be read', () => {
  const connection = join('gateway');
  const [one, other] = [open(connection), open(connection)];
  connection.of(one)?.waiting(900_000);
  connection.of(one)?.waiting(300_000);
  connection.of(other)?.waiting(600_000);
  expect(cut).toEqual([]);
  connection.of(other)?.waiting(800_000);
  expect(cut).toEqual(['gateway']);
});

it('counts a stream and a connection until they are closed', async () => {
  const connection = join('gateway');
  for (let at = 0; at < 3; at += 1) {
    const stream = open(connection);
    receive(stream, 600_000);
    connection.of(stream)?.waiting(200_000);
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.destroy();
    await closed;
  }
  const left = join('left');
  receive(open(left), 900_000);
  left.closed();
  receive(open(connection), 600_000);
  expect(cut).toEqual([]);
});

it('counts small pieces with the memory that they keep', () => {
  const stream = open(join('gateway'));
  const read = Buffer.alloc(64 * 1024);
  for (let at = 0; at < 60; at += 1) stream.push(read.subarray(at, at + 1));
  expect(cut).toEqual(['gateway']);
  const other = open(join('other'));
  for (let at = 0; at < 2_000; at += 1) other.push(Buffer.alloc(1));
  expect(cut).toEqual(['gateway', 'other']);
});
