import { describe, expect, it } from 'vitest';
import { type Connection, createConnection } from './connection.ts';
import { errorCode, flag, frame, frameType, settings, windowUpdate } from './frame.ts';
import { createFrameReader } from './frame-reader.ts';
import type { Call } from './grpc-stream.ts';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const headers = (stream: number, flags: number = flag.endHeaders): Buffer =>
  frame(frameType.headers, flags, stream, Buffer.from([0x83, 0x86]));
const empty = Buffer.alloc(0);
const data = (stream: number, payload: Buffer, flags = 0): Buffer => frame(frameType.data, flags, stream, payload);
const message = (text: string): Buffer => {
  const bytes = Buffer.concat([Buffer.alloc(5), Buffer.from(text)]);
  bytes.writeUInt32BE(bytes.length - 5, 1);
  return bytes;
};
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const names = new Map<number, string>(Object.entries(frameType).map(([name, type]) => [type, name]));

/** A connection and the peer on it: `sent()` is what it got since it last looked, one line for each frame. */
function connect(onMessage: (call: Call, text: string) => void = () => undefined) {
  const calls: Call[] = [];
  const log: string[] = [];
  let out: Buffer[] = [];
  let finished = 0;
  const socket = {
    write: (bytes: Buffer): boolean => {
      // What is written is lent: the connection uses its space again.
      out.push(Buffer.from(bytes));
      return true;
    },
    writableLength: 0,
    writableNeedDrain: false,
  };
  const connection: Connection = createConnection({
    socket,
    open: (call) => {
      calls.push(call);
      return {
        message: (bytes) => {
          log.push(bytes.toString());
          onMessage(call, bytes.toString());
        },
        over: () => log.push('over'),
      };
    },
    finished: () => (finished += 1),
  });
  const lines: string[] = [];
  const reader = createFrameReader(({ type, flags, stream, payload }) => {
    const text = type === frameType.data ? `${payload.length} bytes` : payload.toString('hex');
    lines.push(`${names.get(type)} ${stream} ${text}${flags === 0 ? '' : ` +${flags}`}`);
  });
  reader.push(preface);
  const sent = async (): Promise<readonly string[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    for (const bytes of out) reader.push(bytes);
    out = [];
    return lines.splice(0);
  };
  const send = (...frames: readonly Buffer[]): void => connection.receive(Buffer.concat(frames));
  return { connection, socket, calls, log, sent, send, finished: () => finished, writes: () => out.length };
}

/** One that has been greeted, with the greetings read. */
async function greeted(onMessage?: (call: Call, text: string) => void) {
  const made = connect(onMessage);
  made.send(preface, settings([]));
  await made.sent();
  return made;
}

const responseHead = 'headers 1 885f106170706c69636174696f6e2f67727063 +4';
const trailersOf = (stream: number, status: string): string =>
  `headers ${stream} 000b677270632d737461747573${status.length.toString(16).padStart(2, '0')}${Buffer.from(status).toString('hex')} +5`;

describe('a connection', () => {
  it('says what it takes, widens its window, and acknowledges what the peer takes', async () => {
    const { send, sent } = connect();
    send(preface, settings([[4, 1000]]));
    expect(await sent()).toEqual([
      'settings 0 0003000f4240000400010000',
      `windowUpdate 0 ${(16 * 1024 * 1024 - 65_535).toString(16).padStart(8, '0')}`,
      'settings 0  +1',
    ]);
  });

  it('answers a ping, and ignores the answer to one, priorities and what it does not know', async () => {
    const { send, sent } = await greeted();
    const ping = Buffer.from('12345678');
    send(frame(frameType.ping, 0, 0, ping), frame(frameType.ping, flag.ack, 0, ping));
    send(frame(frameType.priority, 0, 1, Buffer.alloc(5)), frame(0x42, 0xff, 3, Buffer.alloc(7)), settings([[1, 0]]));
    send(frame(frameType.goAway, 0, 0, Buffer.alloc(8)), frame(frameType.settings, flag.ack, 0, empty));
    expect(await sent()).toEqual([`ping 0 ${ping.toString('hex')} +1`, 'settings 0  +1']);
  });

  it('gives windows back once half of them is used, of streams that are over, too', async () => {
    const { send, sent, calls } = await greeted();
    const piece = Buffer.alloc(16_384);
    piece.writeUInt32BE(4 * 1024 * 1024, 1);
    send(headers(1));
    calls[0]?.takeMore();
    for (let count = 0; count < 2; count += 1) send(data(1, piece));
    // The first one widens the window to its full size.
    expect(await sent()).toEqual(['windowUpdate 1 00038000']);
    for (let count = 0; count < 8; count += 1) send(data(1, piece));
    expect(await sent()).toEqual(['windowUpdate 1 00020000']);
    send(frame(frameType.resetStream, 0, 1, number(8)));
    for (let count = 0; count < 502; count += 1) send(data(1, piece));
    expect(await sent()).toEqual(['windowUpdate 0 00800000']);
  });

  it('gives a stream no more than its first window until somebody takes the body, or the call has ended', async () => {
    const { send, sent, calls } = await greeted();
    const body = message('x'.repeat(16_379));
    send(headers(1), headers(3));
    for (const stream of [1, 3]) for (let count = 0; count < 4; count += 1) send(data(stream, body));
    expect(await sent()).toEqual([]);
    calls[0]?.takeMore();
    expect(await sent()).toEqual(['windowUpdate 1 00040000']);
    calls[1]?.end();
    expect(await sent()).toContain('windowUpdate 3 00040000');
  });

  it('takes a first message that is larger than the first window', async () => {
    const { send, sent, log } = await greeted();
    const large = message('x'.repeat(400_000));
    send(headers(1));
    let window = 65_536;
    for (let at = 0; at < large.length;) {
      const length = Math.min(16_384, window, large.length - at);
      expect(length).toBeGreaterThan(0);
      send(data(1, large.subarray(at, at + length)));
      at += length;
      window -= length;
      for (const line of await sent()) window += Number.parseInt(/^windowUpdate 1 (.*)/.exec(line)?.[1] ?? '', 16);
    }
    expect(log).toEqual(['x'.repeat(400_000)]);
  });

  it.each<readonly [string, readonly Buffer[], number]>([
    ['is not HTTP/2', [Buffer.from('GET / HTTP/1.1\r\n\r\n')], errorCode.protocolError],
    ['opens a stream of the server', [preface, headers(2)], errorCode.protocolError],
    ['pushes', [preface, frame(frameType.pushPromise, 0, 1, empty)], errorCode.protocolError],
    ['sends data of no stream', [preface, data(1, Buffer.from('x'))], errorCode.protocolError],
    [
      'sends more padding than frame',
      [preface, headers(1), data(1, Buffer.from([9]), flag.padded)],
      errorCode.protocolError,
    ],
    ['leaves a header block unfinished', [preface, headers(1, 0), data(1, empty)], errorCode.protocolError],
    ['continues nothing', [preface, frame(frameType.continuation, flag.endHeaders, 1, empty)], errorCode.protocolError],
    [
      'continues another stream’s headers',
      [preface, headers(1, 0), frame(frameType.continuation, 4, 3, empty)],
      errorCode.protocolError,
    ],
    ['sends settings cut short', [preface, frame(frameType.settings, 0, 0, Buffer.alloc(5))], errorCode.frameSizeError],
    ['names a window that is too large', [preface, settings([[4, 2 ** 31]])], errorCode.flowControlError],
    ['widens the window past its limit', [preface, windowUpdate(0, 2 ** 31 - 1)], errorCode.flowControlError],
    ['widens the window by nothing', [preface, windowUpdate(0, 0)], errorCode.flowControlError],
    [
      'widens by a number of another size',
      [preface, frame(frameType.windowUpdate, 0, 0, Buffer.alloc(3))],
      errorCode.frameSizeError,
    ],
  ])('whose peer %s ends with the reason', async (_, frames, code) => {
    const { send, sent, finished } = connect();
    for (const each of frames) send(each);
    const said = await sent();
    expect(said.at(-1)).toMatch(new RegExp(`^goAway 0 .{8}${code.toString(16).padStart(8, '0')}$`));
    send(headers(9));
    expect({ later: await sent(), finished: finished() }).toEqual({ later: [], finished: 1 });
  });

  it('does not take headers without end', async () => {
    const { send, sent } = await greeted();
    send(headers(1, 0));
    for (let count = 0; count < 5; count += 1) send(frame(frameType.continuation, 0, 1, Buffer.alloc(16_000)));
    expect(await sent()).toEqual([`goAway 0 00000000${errorCode.enhanceYourCalm.toString(16).padStart(8, '0')}`]);
    const other = await greeted();
    other.send(headers(1, 0));
    for (let count = 0; count < 70_000; count += 1) other.send(frame(frameType.continuation, 0, 1, empty));
    expect((await other.sent())[0]).toMatch(/^goAway/);
  });

  it('that is lost ends every stream once', async () => {
    const { connection, send, log, calls } = await greeted();
    send(headers(1), headers(3));
    connection.lost();
    connection.lost();
    expect({ log, open: connection.open(), write: calls[0]?.write(empty) }).toEqual({
      log: ['over', 'over'],
      open: 0,
      write: false,
    });
  });
});

describe('a call', () => {
  it('is answered in one write: its head, its messages, its end', async () => {
    const { connection, send, sent, log, writes } = await greeted((call, text) => {
      call.write(Buffer.from(`${text}!`));
      call.write(Buffer.from('more'));
      call.end();
      call.end();
      expect(call.write(empty)).toBe(false);
    });
    send(headers(1), data(1, message('hello')));
    await new Promise((resolve) => setImmediate(resolve));
    expect(writes()).toBe(1);
    expect(await sent()).toEqual([responseHead, 'data 1 11 bytes', 'data 1 9 bytes', trailersOf(1, '0')]);
    expect(connection.open()).toBe(1);
    send(data(1, empty, flag.endStream));
    expect({ log, open: connection.open() }).toEqual({ log: ['hello', 'over'], open: 0 });
  });

  it('hears its caller out of headers in parts, padded data and trailers', async () => {
    const { send, log } = await greeted();
    send(
      headers(1, 0),
      frame(frameType.continuation, 0, 1, empty),
      frame(frameType.continuation, flag.endHeaders, 1, empty),
    );
    const padded = Buffer.concat([Buffer.from([3]), message('a'), Buffer.alloc(3)]);
    send(data(1, padded, flag.padded), headers(1, flag.endHeaders | flag.endStream));
    expect(log).toEqual(['a', 'over']);
  });

  it('whose caller ends with its head is over at once', async () => {
    const { send, log } = await greeted();
    send(headers(1, flag.endHeaders | flag.endStream));
    expect(log).toEqual(['over']);
  });

  it('whose message cannot be read ends with an error, and its neighbour does not', async () => {
    const { send, sent, log, calls } = await greeted((_, text) => {
      if (text === 'bad') throw new Error('CANARY');
    });
    send(headers(1), headers(3), data(1, message('bad')), data(1, message('ignored')), data(3, message('good')));
    expect(await sent()).toEqual([responseHead, trailersOf(1, '13')]);
    expect(log).toEqual(['bad', 'over', 'good']);
    calls[1]?.end();
    expect(await sent()).toContain(trailersOf(3, '0'));
  });

  it('that is reset is over, and says nothing more', async () => {
    const { connection, send, sent, log, calls } = await greeted();
    send(headers(1));
    calls[0]?.write(Buffer.alloc(100_000));
    await sent();
    send(frame(frameType.resetStream, 0, 1, number(8)), windowUpdate(1, 100_000), windowUpdate(0, 100_000));
    calls[0]?.end();
    expect({ log, open: connection.open(), sent: await sent() }).toEqual({ log: ['over'], open: 0, sent: [] });
  });

  it('whose window grows past its limit is reset', async () => {
    const { send, sent, log } = await greeted();
    send(headers(1), windowUpdate(1, 2 ** 31 - 1));
    expect(await sent()).toEqual(['resetStream 1 00000003']);
    expect(log).toEqual(['over']);
  });
});

describe('flow control', () => {
  it('of a stream holds back what does not fit, and says so', async () => {
    const { send, sent, calls } = await greeted();
    send(windowUpdate(0, 1_000_000), settings([[4, 20_000]]), headers(1));
    await sent();
    const [call] = calls;
    let room = 0;
    expect(call?.write(Buffer.alloc(29_995))).toBe(false);
    call?.onRoom(() => (room += 1));
    call?.end();
    expect(await sent()).toEqual([responseHead, 'data 1 5 bytes', 'data 1 16384 bytes', 'data 1 3611 bytes']);
    send(windowUpdate(1, 9_000));
    expect(await sent()).toEqual(['data 1 9000 bytes']);
    send(windowUpdate(1, 9_000));
    // Its end stands behind the last of its data; nobody needs room any more.
    expect({ sent: await sent(), room }).toEqual({ sent: ['data 1 1000 bytes', trailersOf(1, '0')], room: 0 });
  });

  it('tells whoever waits that there is room', async () => {
    const { send, sent, calls } = await greeted();
    send(headers(1));
    const [call] = calls;
    let room = 0;
    const wait = (): void => call?.onRoom(() => (room += 1));
    wait();
    expect({ room, fits: call?.write(Buffer.alloc(16_000)), more: call?.write(Buffer.alloc(60_000)) }).toEqual({
      room: 1,
      fits: true,
      more: false,
    });
    wait();
    send(windowUpdate(0, 100_000), windowUpdate(1, 100));
    expect(room).toBe(1);
    send(windowUpdate(1, 100_000));
    send(windowUpdate(1, 1));
    expect(room).toBe(2);
    await sent();
  });

  it('of the connection is shared by its streams', async () => {
    const { send, sent, calls } = await greeted();
    send(settings([[4, 1_000_000]]), headers(1), headers(3));
    await sent();
    const lengths = calls.map((call) => call.write(Buffer.alloc(40_000)));
    const bytes = (lines: readonly string[]): number =>
      lines.reduce((sum, line) => sum + Number(/^data \d (\d+) bytes/.exec(line)?.[1] ?? 0), 0);
    expect({ lengths, bytes: bytes(await sent()) }).toEqual({ lengths: [true, false], bytes: 65_535 });
    send(windowUpdate(0, 100_000));
    expect(bytes(await sent())).toBe(80_010 - 65_535);
  });

  it('follows a window that shrinks under a stream until it is above nothing again', async () => {
    const { send, sent, calls } = await greeted();
    send(windowUpdate(0, 1_000_000), headers(1));
    calls[0]?.write(Buffer.alloc(10_000));
    await sent();
    send(settings([[4, 5_000]]));
    calls[0]?.write(Buffer.alloc(95));
    expect(await sent()).toEqual(['settings 0  +1']);
    send(windowUpdate(1, 5_055));
    expect(await sent()).toEqual(['data 1 5 bytes', 'data 1 45 bytes']);
    send(settings([[4, 6_000]]));
    expect(await sent()).toEqual(['settings 0  +1', 'data 1 50 bytes']);
  });

  it('of a full socket makes its streams wait until it has drained', async () => {
    const { connection, socket, send, calls } = await greeted();
    send(headers(1));
    socket.writableNeedDrain = true;
    let room = 0;
    expect(calls[0]?.write(Buffer.from('a'))).toBe(false);
    calls[0]?.onRoom(() => (room += 1));
    connection.drained();
    expect(room).toBe(0);
    socket.writableNeedDrain = false;
    connection.drained();
    connection.drained();
    expect(room).toBe(1);
  });

  it('lends the socket no bytes that it changes while they wait there', async () => {
    const { socket, send, sent, calls } = await greeted();
    send(windowUpdate(0, 1_000_000), headers(1));
    const lent: Buffer[] = [];
    socket.writableLength = 1;
    const { write } = socket;
    socket.write = (bytes) => {
      lent.push(bytes);
      return write(bytes);
    };
    calls[0]?.write(Buffer.from('first'));
    await sent();
    const [before] = lent.map((bytes) => bytes.toString('hex'));
    calls[0]?.write(Buffer.from('second'));
    await sent();
    expect(lent[0]?.toString('hex')).toBe(before);
  });
});

describe('draining', () => {
  it('lets what is open end, refuses what is new, and is finished with the last', async () => {
    const { connection, send, sent, calls, finished } = await greeted();
    send(headers(1));
    connection.drain();
    connection.drain();
    expect(await sent()).toEqual(['goAway 0 0000000100000000']);
    send(headers(3), data(3, message('x')));
    expect(await sent()).toEqual(['resetStream 3 00000007']);
    expect(finished()).toBe(0);
    calls[0]?.end();
    send(data(1, empty, flag.endStream));
    expect({ sent: (await sent()).at(-1), finished: finished(), calls: calls.length }).toEqual({
      sent: trailersOf(1, '0'),
      finished: 1,
      calls: 1,
    });
  });

  it('with nothing open is finished at once', async () => {
    const { connection, sent, finished } = await greeted();
    connection.drain();
    expect({ finished: finished(), sent: await sent() }).toEqual({ finished: 1, sent: ['goAway 0 0000000000000000'] });
  });
});
