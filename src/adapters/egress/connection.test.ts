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
  egress = createEgress({ socketPath: join(folder, 'egress.sock') });
});

afterEach(async () => {
  await egress.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, 'close');
  await rm(folder, { recursive: true, force: true });
});

/** A call to its end: what came of it, the body, and how. `onData` is told of each piece. */
function ask(onData: (hold: () => void, letGo: () => void) => void = () => undefined): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const call = { cluster: 'c', authority: 'a', path: '/', body: '{}', accept: 'application/json' } as const;
    const stream = egress.call(call, {
      head: (status) => (text += `${status} `),
      data: (bytes) => {
        text += Buffer.from(bytes).toString();
        onData(stream.pause, stream.resume);
      },
      ended: () => resolve(`${text} ended`),
      failed: (reason) => resolve(`${text} failed ${reason}`),
    });
  });
}

const ok = 'HTTP/1.1 200 OK\r\n';
const whole = `${ok}content-length: 1\r\n\r\na`;

describe('an answer', () => {
  it('without a length ends with its connection', async () => {
    answer = (socket) => socket.end(`${ok}\r\nabc`);
    expect(await ask()).toBe('200 abc ended');
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
    expect(thrown).toBe('200 a failed PROTOCOL');
    expect(await ask()).toBe('200 a ended');
  });
});

describe('a connection', () => {
  it('that is always full is read once in a turn of the event loop, and others have theirs', async () => {
    const bytes = Buffer.alloc(8 * 1024 * 1024, 'a');
    answer = (socket) =>
      socket.end(Buffer.concat([Buffer.from(`${ok}content-length: ${bytes.length}\r\n\r\n`), bytes]));
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const turnsOfReads: number[] = [];
    await ask(() => turnsOfReads.push(turns));
    isOver = true;
    expect(turnsOfReads.length).toBeGreaterThan(100);
    expect(new Set(turnsOfReads).size).toBe(turnsOfReads.length);
  });

  it('is not used again when more came than was asked for', async () => {
    answer = (socket) => socket.write(`${whole}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`);
    expect([await ask(), await ask()]).toEqual(['200 a ended', '200 a ended']);
    expect(sockets).toHaveLength(2);
  });

  it('on which something comes unasked is closed', async () => {
    answer = (socket) => socket.write(whole);
    await ask();
    const [first] = sockets;
    const gone = new Promise((resolve) => first?.on('close', resolve));
    first?.write(whole);
    await gone;
    expect(await ask()).toBe('200 a ended');
    expect(sockets).toHaveLength(2);
  });

  it('that says that it closes is closed', async () => {
    answer = (socket) => socket.write(`${ok}connection: close\r\ncontent-length: 1\r\n\r\na`);
    expect([await ask(), await ask()]).toEqual(['200 a ended', '200 a ended']);
    expect(sockets).toHaveLength(2);
  });

  it('whose answer was held back at its last byte reads the next one', async () => {
    answer = (socket) => socket.write(whole);
    expect(await ask((hold) => hold())).toBe('200 a ended');
    expect(await ask()).toBe('200 a ended');
    expect(sockets).toHaveLength(1);
  });

  it('gives every piece of an answer that is held back at each', async () => {
    answer = (socket) => socket.write(`${ok}transfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n`);
    const held = (hold: () => void, letGo: () => void): void => {
      hold();
      setImmediate(letGo);
    };
    expect([await ask(held), await ask(held)]).toEqual(['200 abc ended', '200 abc ended']);
    expect(sockets).toHaveLength(1);
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
