import { connect, type Socket } from 'node:net';
import { createResponseReader, type ResponseHead, type ResponseReader } from './response-reader.ts';

/** Whoever waits for an answer on a connection. */
export interface Answered {
  readonly head: (head: ResponseHead) => void;
  /** A piece of the body. The bytes are overwritten by the next piece, of whichever connection. */
  readonly data: (bytes: Buffer) => void;
  readonly ended: () => void;
  /** The answer will not come, or not to its end. */
  readonly failed: (reason: string) => void;
}

export interface ConnectionOptions {
  readonly socketPath: string;
  /** The answer was read to its end and the connection may be used again. */
  readonly idle: (connection: Connection) => void;
  readonly closed: (connection: Connection) => void;
}

/** Every connection reads into this: what it hands out is used at once. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Fault of our own on an answer, where no error of the system names one. */
const notHttp = 'PROTOCOL';
const cut = 'CLOSED';

/** A keep-alive connection to Envoy's egress listener, with at most one request on it. */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  #answered: Answered | undefined;
  #reader: ResponseReader | undefined;
  #paused = false;
  #begun = false;
  /** Bytes that came in the same piece as the one at which the answer was held back. */
  #held: Buffer | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    let reason = cut;
    this.#socket = connect({
      path: options.socketPath,
      onread: {
        buffer: readBuffer,
        callback: (size) => {
          this.#read(readBuffer.subarray(0, size));
          if (size === readBuffer.length) this.#letOthersGo();
          return true;
        },
      },
    });
    this.#socket.on('error', (error: Error & { readonly code?: string }) => {
      reason = error.code ?? error.name;
    });
    this.#socket.on('close', () => {
      options.closed(this);
      this.#over(reason);
    });
  }

  /** Sends a request. The connection must be idle. */
  send(pieces: readonly Uint8Array[], answered: Answered): void {
    this.#answered = answered;
    this.#paused = false;
    this.#begun = false;
    this.#reader = createResponseReader({
      head: (head) => {
        this.#begun = true;
        answered.head(head);
      },
      data: answered.data,
    });
    this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }

  /** Holds the body back: the head is reported all the same. */
  pause(): void {
    this.#paused = true;
    if (this.#begun) this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#read(held);
    if (!this.#paused) this.#socket.resume();
  }

  /** Closes the connection. Nothing is reported of the request on it. */
  destroy(): void {
    this.#answered = undefined;
    this.#reader = undefined;
    this.#socket.destroy();
  }

  /** Closes the connection, and fails the request on it. */
  fail(reason: string): void {
    const answered = this.#answered;
    this.destroy();
    answered?.failed(reason);
  }

  #read(bytes: Buffer): void {
    const reader = this.#reader;
    const answered = this.#answered;
    // Nobody asked for it: what it would be taken for is anybody's guess.
    if (reader === undefined || answered === undefined) return this.destroy();
    let used: number;
    try {
      used = reader.push(bytes, () => this.#paused || this.#answered === undefined);
    } catch {
      return this.fail(notHttp);
    }
    // It was given up meanwhile.
    if (this.#answered === undefined) return undefined;
    if (reader.isDone()) return this.#finish(answered, reader.isReusable() && used === bytes.length);
    if (used < bytes.length) this.#held = Buffer.from(bytes.subarray(used));
    if (this.#paused) this.#socket.pause();
    return undefined;
  }

  /**
   * More is waiting than was read. The socket would be read up to 32 times before anything else has its turn: an engine that
   * floods would hold up everybody for as long as two megabytes take.
   */
  #letOthersGo(): void {
    this.#socket.pause();
    setImmediate(() => {
      if (!this.#paused) this.#socket.resume();
    });
  }

  #finish(answered: Answered, reusable: boolean): void {
    this.#answered = undefined;
    this.#reader = undefined;
    // It was held back in its last piece: the next answer is not.
    if (this.#paused) this.#socket.resume();
    this.#paused = false;
    if (reusable) this.#options.idle(this);
    else this.destroy();
    answered.ended();
  }

  /** The socket has closed. */
  #over(reason: string): void {
    const answered = this.#answered;
    const isEnd = this.#reader?.endsWithConnection() === true && reason === cut;
    this.#answered = undefined;
    this.#reader = undefined;
    if (isEnd) answered?.ended();
    else answered?.failed(reason);
  }
}
