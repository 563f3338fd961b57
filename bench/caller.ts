import { connect, type Socket } from 'node:net';
import { createResponseReader } from './response-reader.ts';
import { verifyAnswer, type Expectation } from './verify-answer.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One answer, as its caller saw it. */
export interface Answer {
  /** From the moment the request was written to the first byte of the body. */
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
  readonly bodyBytes: number;
  /** Why this answer does not count as one; undefined when all that was checked is right. */
  readonly failure: string | undefined;
}

export interface CallerOptions {
  readonly address: Address;
  /** The request's bytes, head and body. */
  readonly request: Buffer;
  readonly expected: Expectation;
  readonly onAnswer: (answer: Answer) => void;
  readonly onBody?: (bytes: number) => void;
}

/** One keep-alive connection with at most one request on it. */
export interface Caller {
  /** Sends the request; the caller must be idle. Connects first where it has to. */
  readonly send: () => void;
  readonly idle: () => boolean;
  readonly close: () => void;
}

const readBufferBytes = 64 * 1024;
/** Each caller reads its first answer in full and one in this many after it; the others are checked by their signs. */
const verifyEvery = 50;
const tailBytes = 24;
const doneMark = 'data: [DONE]\n\n';

/** Opens nothing until the first `send`. A connection that ends under a request is the failure `cut`; the next `send` connects anew. */
export function createCaller(options: CallerOptions): Caller {
  const readBuffer = Buffer.allocUnsafe(readBufferBytes);
  const tail = Buffer.alloc(tailBytes);
  let socket: Socket | undefined;
  let busy = false;
  let sent = 0;
  let sentAt = 0;
  let firstByteMs: number | undefined;
  let bodyBytes = 0;
  let status = 0;
  let closes = false;
  let kept: Buffer[] | undefined;

  const finish = (failure: string | undefined): void => {
    busy = false;
    if (closes || failure === 'cut') {
      socket?.destroy();
      socket = undefined;
    }
    options.onAnswer({ firstByteMs, durationMs: performance.now() - sentAt, bodyBytes, failure });
  };

  const judge = (): string | undefined => {
    if (status !== 200) return `status ${status}`;
    if (options.expected.stream && !tail.toString('latin1', 0, tailBytes).endsWith(doneMark)) return 'no [DONE]';
    return kept === undefined ? undefined : verifyAnswer(Buffer.concat(kept).toString('utf8'), options.expected);
  };

  const open = (): Socket => {
    const opened = connect({
      ...options.address,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (size) => {
          try {
            reader.push(readBuffer.subarray(0, size));
          } catch {
            opened.destroy();
          }
          return true;
        },
      },
    });
    const reader = createResponseReader({
      onHead: (head) => {
        ({ status, closes } = head);
      },
      onBody: (bytes) => {
        firstByteMs ??= performance.now() - sentAt;
        bodyBytes += bytes.length;
        options.onBody?.(bytes.length);
        if (options.expected.stream) keepTail(tail, bytes);
        kept?.push(Buffer.from(bytes));
      },
      onEnd: () => finish(judge()),
    });
    // The reason of an error does not matter here: `close` follows it.
    opened.on('error', () => opened.destroy());
    opened.on('close', () => {
      if (socket !== opened) return;
      socket = undefined;
      if (busy) finish('cut');
    });
    return opened;
  };

  return {
    send() {
      if (busy) throw new Error('one request at a time on a connection');
      busy = true;
      kept = sent % verifyEvery === 0 ? [] : undefined;
      sent += 1;
      firstByteMs = undefined;
      bodyBytes = 0;
      status = 0;
      closes = false;
      tail.fill(0);
      socket ??= open();
      sentAt = performance.now();
      socket.write(options.request);
    },
    idle: () => !busy,
    close() {
      busy = false;
      const closing = socket;
      socket = undefined;
      closing?.destroy();
    },
  };
}

/** Keeps the last bytes of a body that comes in pieces. */
function keepTail(tail: Buffer, bytes: Buffer): void {
  if (bytes.length >= tailBytes) {
    bytes.copy(tail, 0, bytes.length - tailBytes);
    return;
  }
  tail.copyWithin(0, bytes.length);
  bytes.copy(tail, tailBytes - bytes.length);
}
