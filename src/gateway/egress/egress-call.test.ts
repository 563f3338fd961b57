import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEgress, type Egress } from './egress.ts';

// What Node's own server would never send.
let folder: string;
let egress: Egress;
let server: Server;
let sockets: Socket[];
let answer: (socket: Socket) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-egress-'));
  sockets = [];
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => answer(socket));
  });
  server.listen(join(folder, 'egress.sock'));
  await once(server, 'listening');
  egress = createEgress({ socketPath: join(folder, 'egress.sock'), atTurnEnd: setImmediate });
});

afterEach(async () => {
  await egress.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, 'close');
  await rm(folder, { recursive: true, force: true });
});

/** A call to its end: the answer's status and header `x-a`, its body, and how it ended. `onData` is told of each piece. */
function ask(onData: (hold: () => void, letGo: () => void) => void = () => undefined): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const call = { cluster: 'c', authority: 'a', path: '/', body: '{}', accept: 'application/json' } as const;
    const stream = egress.call(call, {
      head: (status, header) => (text += `${status} ${header('x-a') ?? ''} `),
      data: (bytes) => {
        text += Buffer.from(bytes).toString('latin1');
        onData(stream.pause, stream.resume);
      },
      ended: () => resolve(`${text} ended`),
      failed: (reason) => resolve(`${text} failed ${reason}`),
    });
  });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Sends an answer in pieces of so many bytes, each in a turn of its own. */
async function sendInPieces(socket: Socket, { bytes, size }: { readonly bytes: Buffer; readonly size: number }) {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, at + size));
    await turn();
  }
}

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
const whole = `${ok}content-length: 1\r\n\r\na`;

describe('an answer', () => {
  it.each([
    ['of a length', `${ok}Content-Length: 3\r\n\r\nabc`, '200  abc ended'],
    ['of no length', `${ok}content-length: 0\r\n\r\n`, '200   ended'],
    [
      'in chunks, with extensions and trailers',
      `${chunked}3\r\nabc\r\nA;x="1"\r\n0123456789\r\n0\r\nx-a: b\r\n\r\n`,
      '200  abc0123456789 ended',
    ],
    ['of every byte there is', `${ok}content-length: 4\r\n\r\n\0\r\n\xff`, '200  \0\r\n\xff ended'],
    ['that closes', `${ok}connection: Close\r\ncontent-length: 1\r\n\r\na`, '200  a ended'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', '200  a ended'],
    [
      'after interim ones',
      `HTTP/1.1 102 \r\n\r\nHTTP/1.1 103 \r\nlink: x\r\n\r\n${ok}content-length: 1\r\n\r\na`,
      '200  a ended',
    ],
    ['without a body by its status', 'HTTP/1.1 204 No Content\r\n\r\n', '204   ended'],
    ['without a reason', 'HTTP/1.1 503\r\ncontent-length: 0\r\n\r\n', '503   ended'],
    [
      'with a header twice, of which the first counts',
      `${ok}x-a:  1\r\nx-a: 2\r\ncontent-length: 0\r\n\r\n`,
      '200 1  ended',
    ],
  ])('%s is read, in one piece and byte by byte', async (_, text, expected) => {
    const bytes = Buffer.from(text, 'latin1');
    answer = (socket) => socket.write(bytes);
    expect(await ask()).toBe(expected);
    answer = (socket) => void sendInPieces(socket, { bytes, size: 1 });
    expect(await ask()).toBe(expected);
  });

  it('without a length ends with its connection', async () => {
    answer = (socket) => socket.end(`${ok}\r\nabc`);
    expect(await ask()).toBe('200  abc ended');
  });

  it('that is not HTTP has failed, and is not quoted', async () => {
    answer = (socket) => socket.write('CANARY\r\n\r\n');
    expect(await ask()).toBe(' failed PROTOCOL');
  });

  it('whose reader throws has failed, and the next call is none the worse', async () => {
    answer = (socket) => socket.write(whole);
    const thrown = await ask(() => {
      throw new Error('CANARY');
    });
    expect(thrown).toBe('200  a failed PROTOCOL');
    expect(await ask()).toBe('200  a ended');
  });
});

describe('what is out of order is a fault', () => {
  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['another version', 'HTTP/1.2 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000\r\n\r\n'],
    ['a word to go on, which was not asked for', `HTTP/1.1 100 Continue\r\n\r\n${whole}`],
    ['a switch of protocols', 'HTTP/1.1 101 Switching\r\n\r\n'],
    ['a switch to a named protocol', 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n'],
    ['a header without a colon', `${ok}x-a\r\n\r\n`],
    ['a header without a name', `${ok}: a\r\n\r\n`],
    ['a name with a space', `${ok}x-a : b\r\n\r\n`],
    ['a folded header', `${ok}x-a: b\r\n c\r\n\r\n`],
    ['a header that ends in a line feed alone', `${ok}x-a: b\ncontent-length: 0\r\n\r\n`],
    ['a head that ends in a line feed alone', `${ok}content-length: 1\r\n\na`],
    ['a length that is no number', `${ok}content-length: +1\r\n\r\n`],
    ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\n`],
    ['a length that is repeated', `${ok}content-length: 1\r\ncontent-length: 1\r\n\r\na`],
    ['a length and chunks', `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['chunks and a length', `${ok}transfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n`],
    ['another coding', `${ok}transfer-encoding: gzip, chunked\r\n\r\n`],
    ['another coding in a header of its own', `${ok}transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['another coding without chunks', `${ok}transfer-encoding: gzip\r\n\r\n`],
    ['a chunk without a size', `${chunked}\r\n`],
    ['a chunk of a negative size', `${chunked}-1\r\n`],
    ['a chunk of an immense size', `${chunked}fffffffffffffffff\r\n`],
    ['a chunk longer than its size', `${chunked}1\r\nab\r\n`],
    ['a size that ends in a line feed alone', `${chunked}1\na`],
    ['a chunk that ends in a line feed alone', `${chunked}1\r\na\n0\r\n\r\n`],
    ['an endless head', `${ok}x-a: ${'b'.repeat(200_000)}`],
    ['endless trailers', `${chunked}0\r\n${'x-a: b\r\n'.repeat(40_000)}`],
  ])('%s', async (_, text) => {
    const bytes = Buffer.from(text, 'latin1');
    answer = (socket) => socket.write(bytes);
    expect(await ask()).toMatch(/ failed [A-Z_]+$/);
    // Piece by piece it is found as well, at its end at the latest.
    answer = (socket) => void sendInPieces(socket, { bytes, size: Math.max(7, Math.floor(bytes.length / 200)) });
    expect(await ask()).toMatch(/ failed [A-Z_]+$/);
    expect(egress.inFlight('c')).toBe(0);
  });
});

describe('a connection', () => {
  it('that is always full is left for others after two reads of it', async () => {
    const bytes = Buffer.alloc(8 * 1024 * 1024, 'a');
    answer = (socket) =>
      socket.end(Buffer.concat([Buffer.from(`${ok}content-length: ${bytes.length}\r\n\r\n`), bytes]));
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    const turnsOfReads: number[] = [];
    await ask(() => turnsOfReads.push(turns));
    isOver = true;
    expect(turnsOfReads.length).toBeGreaterThan(60);
    expect(Math.max(...Object.values(Object.groupBy(turnsOfReads, String)).map((each) => each?.length ?? 0))).toBe(2);
  });

  it('is not used again when more came than was asked for', async () => {
    answer = (socket) => socket.write(`${whole}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`);
    expect([await ask(), await ask()]).toEqual(['200  a ended', '200  a ended']);
    expect(sockets).toHaveLength(2);
  });

  it('on which something comes unasked is closed', async () => {
    answer = (socket) => socket.write(whole);
    await ask();
    const [first] = sockets;
    const gone = new Promise((resolve) => first?.on('close', resolve));
    first?.write(whole);
    await gone;
    expect(await ask()).toBe('200  a ended');
    expect(sockets).toHaveLength(2);
  });

  it('that says that it closes is closed', async () => {
    answer = (socket) => socket.write(`${ok}connection: close\r\ncontent-length: 1\r\n\r\na`);
    expect([await ask(), await ask()]).toEqual(['200  a ended', '200  a ended']);
    expect(sockets).toHaveLength(2);
  });

  it('that the other side closes under a call fails it, and nothing is sent a second time', async () => {
    let asked = 0;
    answer = (socket) => {
      asked += 1;
      socket.end();
    };
    expect(await ask()).toBe(' failed UND_ERR_SOCKET');
    await turn();
    expect(asked).toBe(1);
  });

  it('whose answer is held back at its last byte ends it when let go, and reads the next one', async () => {
    answer = (socket) => socket.write(whole);
    const held = (hold: () => void, letGo: () => void): void => {
      hold();
      setImmediate(letGo);
    };
    expect(await ask(held)).toBe('200  a ended');
    await turn();
    expect(await ask()).toBe('200  a ended');
    expect(sockets).toHaveLength(1);
  });

  it('gives every piece of an answer that is held back at each', async () => {
    answer = (socket) => socket.write(`${chunked}1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n`);
    const held = (hold: () => void, letGo: () => void): void => {
      hold();
      setImmediate(letGo);
    };
    expect([await ask(held), await ask(held)]).toEqual(['200  abc ended', '200  abc ended']);
  });

  it('is let go from within a piece of another', async () => {
    answer = (socket) => socket.write(`${chunked}1\r\na\r\n1\r\nb\r\n0\r\n\r\n`);
    const held = Promise.withResolvers<() => void>();
    let pieces = 0;
    const first = ask((hold, letGo) => {
      pieces += 1;
      if (pieces === 1) hold();
      held.resolve(letGo);
    });
    const letFirstGo = await held.promise;
    expect(await ask(() => letFirstGo())).toBe('200  ab ended');
    expect(await first).toBe('200  ab ended');
  });

  it('under a call fails it when egress closes', async () => {
    const asked = Promise.withResolvers<void>();
    answer = () => asked.resolve();
    const asking = ask();
    await asked.promise;
    await egress.close();
    expect(await asking).toBe(' failed EGRESS_CLOSED');
  });
});
