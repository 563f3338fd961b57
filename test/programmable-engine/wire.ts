import type { ServerResponse } from 'node:http';
import { constants, createGzip, type Gzip } from 'node:zlib';

/**
 * The response on its way to the client: writes that honour back-pressure, pauses that end early when the client leaves, and the
 * ways to break a connection. After the client has left every operation returns at once and does nothing.
 */
export interface Wire {
  readonly closed: () => boolean;
  /** Resolves after the time, and not while pauses are held, or when the client leaves. */
  readonly pause: (ms: number) => Promise<void>;
  readonly untilClosed: () => Promise<void>;
  readonly sendHead: (status: number, headers: Readonly<Record<string, string | number>>) => void;
  readonly headSent: () => boolean;
  /** Resolves when the client is ready for more. */
  readonly send: (bytes: Uint8Array | string) => Promise<void>;
  /** As `send`, and the bytes have left this process in a piece of their own when it resolves. */
  readonly sendAlone: (bytes: Uint8Array) => Promise<void>;
  /** Lets other answers go on. */
  readonly nextTurn: () => Promise<void>;
  /** Ends the body as HTTP says. */
  readonly end: (lastBytes?: string) => Promise<void>;
  /** FIN without the end of the body. */
  readonly cut: () => Promise<void>;
  /** RST; on a Unix socket, which has none, an abrupt close. */
  readonly reset: () => Promise<void>;
  /** A chunk that promises a kilobyte more than these bytes, then FIN. Only for a body sent in chunks. */
  readonly truncate: (lastBytes: Uint8Array) => Promise<void>;
}

export interface WireOptions {
  /** Sends the body as gzip, flushed at every send. */
  readonly compress: boolean;
  /** What a pause waits for, besides its time. */
  readonly held: () => Promise<void> | undefined;
}

/** The wire of one response. */
export function createWire(response: ServerResponse, { compress, held }: WireOptions): Wire {
  let wake: (() => void) | undefined;
  const rouse = (): void => wake?.();
  response.on('close', rouse).on('drain', rouse);
  const gzip = compress ? createGzip() : undefined;

  const closed = (): boolean => response.closed || response.destroyed;
  const roused = async (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });

  const write = async (bytes: Uint8Array | string): Promise<void> => {
    if (closed() || response.write(bytes)) return;
    while (!closed() && response.writableNeedDrain) await roused();
  };
  const send = async (bytes: Uint8Array | string): Promise<void> =>
    gzip === undefined ? write(bytes) : write(await compressed(gzip, bytes));
  const flushed = async (): Promise<void> => {
    if (!closed() && response.headersSent) await new Promise((resolve) => response.write('', resolve));
  };

  return {
    closed,
    send,
    headSent: () => response.headersSent,
    sendHead: (status, headers) => {
      if (closed()) return;
      response.writeHead(status, compress ? { ...headers, 'content-encoding': 'gzip' } : headers);
      response.flushHeaders();
    },
    pause: async (ms) => {
      if (ms <= 0 || closed()) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => void Promise.resolve(held()).then(resolve), ms);
        wake = () => {
          // A drain ends no pause; only the client's leaving does.
          if (!closed()) return;
          clearTimeout(timer);
          resolve();
        };
      });
    },
    untilClosed: async () => {
      while (!closed()) await roused();
    },
    nextTurn: async () => new Promise((resolve) => setImmediate(resolve)),
    sendAlone: async (bytes) => {
      await send(bytes);
      // The http module corks until the next tick; after one turn of the loop the bytes are in the kernel.
      await new Promise((resolve) => setImmediate(resolve));
    },
    end: async (lastBytes = '') => {
      if (closed()) return;
      const tail = gzip === undefined ? lastBytes : await finished(gzip, lastBytes);
      if (!closed())
        await new Promise<void>((resolve) => {
          response.once('close', resolve);
          response.end(tail, () => resolve());
        });
    },
    cut: async () => {
      await flushed();
      response.socket?.destroySoon();
    },
    reset: async () => {
      await flushed();
      const { socket } = response;
      if (socket?.remoteAddress === undefined) socket?.destroy();
      else socket.resetAndDestroy();
    },
    truncate: async (lastBytes) => {
      await flushed();
      const { socket } = response;
      socket?.write(`${(lastBytes.length + 1024).toString(16)}\r\n`);
      socket?.write(lastBytes);
      socket?.destroySoon();
    },
  };
}

async function compressed(gzip: Gzip, bytes: Uint8Array | string): Promise<Uint8Array> {
  return new Promise((resolve) => {
    gzip.write(bytes);
    gzip.flush(constants.Z_SYNC_FLUSH, () => resolve(taken(gzip)));
  });
}

async function finished(gzip: Gzip, bytes: string): Promise<Uint8Array> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    gzip.on('data', (part: Buffer) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts)));
    gzip.end(bytes);
  });
}

function taken(gzip: Gzip): Uint8Array {
  const parts: Buffer[] = [];
  for (let part: unknown = gzip.read(); Buffer.isBuffer(part); part = gzip.read()) parts.push(part);
  return Buffer.concat(parts);
}
