import { errorCode, flag, frame, frameType, initialFrameBytes, resetStream, windowUpdate } from './frame.ts';
import { createMessageReader, messageHeadBytes } from './grpc-messages.ts';
import { putMessageHead, type Outbox } from './outbox.ts';

/** One gRPC call, as its handler answers it. */
export interface Call {
  /** Sends a message. False: hold the next one back until `onRoom` runs. Nothing is sent once the call is over. */
  readonly write: (message: Buffer) => boolean;
  /** Calls `run` once, as soon as there is room; at once when there is. */
  readonly onRoom: (run: () => void) => void;
  /** From now on the peer may send more than the stream's first window. Without it, a sender whose key is unknown is held up. */
  readonly takeMore: () => void;
  /** Ends the call well. */
  readonly end: () => void;
}

/** Whoever answers a call. */
export interface CallHandler {
  /** May throw, which ends the call with an error. */
  readonly message: (message: Buffer) => void;
  /** The caller has no more to say, or is gone. Comes once and last. */
  readonly over: () => void;
}

/**
 * Bytes a peer may have on the way to us on one stream: until somebody takes the body, and from then on. With HTTP/2's 64 KiB
 * for all, one large upload holds up every other request for seconds (measured).
 */
export const firstWindowBytes = 64 * 1024;
const streamWindowBytes = 256 * 1024;

/** What a stream shares with the others of its connection. */
export interface Shared {
  readonly outbox: Outbox;
  /** Bytes the peer takes on all streams together. */
  window: number;
  /** Whether the socket has been given more than it could pass on. */
  readonly congested: () => boolean;
  /** Both sides have ended, or the stream was reset. */
  readonly closed: (stream: GrpcStream) => void;
}

// HPACK (RFC 7541): 0x88 is `:status: 200` and 0x5f begins a literal `content-type`, both by their static index; 0x00
// begins a literal with a name of its own. Nothing refers to the dynamic table. The stream's number is put in later.
const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
const contentType = 'application/grpc';
const head = frame(
  frameType.headers,
  flag.endHeaders,
  0,
  Buffer.concat([Buffer.from([0x88, 0x5f, contentType.length]), Buffer.from(contentType)]),
);
const succeeded = frame(frameType.headers, flag.endHeaders | flag.endStream, 0, literal('grpc-status', '0'));
/** INTERNAL. */
const failed = frame(frameType.headers, flag.endHeaders | flag.endStream, 0, literal('grpc-status', '13'));

/** One stream of a connection. */
export class GrpcStream implements Call {
  readonly id: number;
  /** Bytes the peer takes on this stream. */
  window: number;
  /** Bytes received for which no window was given back yet. */
  #consumed = 0;
  #ownWindow = firstWindowBytes;
  #takesMore = false;
  #hasMessage = false;
  readonly #shared: Shared;
  readonly #handler: CallHandler;
  readonly #reader;
  /** Data that waits for a window, oldest first. */
  #waiting: Buffer[] = [];
  #trailers: Buffer | undefined;
  #local: 'idle' | 'open' | 'ending' | 'ended' = 'idle';
  #peerEnded = false;
  /** Whether the handler knows that the caller has no more to say. */
  #told = false;
  #onRoom: (() => void) | undefined;

  constructor(
    id: number,
    window: number,
    options: { readonly shared: Shared; readonly open: (call: Call) => CallHandler },
  ) {
    this.id = id;
    this.window = window;
    this.#shared = options.shared;
    this.#handler = options.open(this);
    this.#reader = createMessageReader((message) => {
      this.#hasMessage = true;
      this.#handler.message(message);
    });
  }

  write(message: Buffer): boolean {
    if (this.#local === 'ending' || this.#local === 'ended') return false;
    this.#begin();
    const length = messageHeadBytes + message.length;
    const { outbox, window } = this.#shared;
    if (this.#waiting.length === 0 && length <= Math.min(this.window, window, initialFrameBytes)) {
      this.window -= length;
      this.#shared.window -= length;
      outbox.putMessage(this.id, message);
    } else {
      const messageHead = Buffer.allocUnsafe(messageHeadBytes);
      putMessageHead(messageHead, 0, message.length);
      this.#waiting.push(messageHead, message);
      this.pump();
    }
    return this.#hasRoom();
  }

  onRoom(run: () => void): void {
    if (this.#hasRoom()) run();
    else this.#onRoom = run;
  }

  takeMore(): void {
    this.#takesMore = true;
    this.#giveWindow();
  }

  end(): void {
    this.#finish(succeeded);
  }

  /** Bytes of the peer's have come, padding included; more will where it has not ended its side. */
  consume(bytes: number, endStream: boolean): void {
    this.#consumed += bytes;
    if (!endStream) this.#giveWindow();
  }

  /** Gives back what was consumed, once it is half of a window. The first time the window becomes its full size. */
  #giveWindow(): void {
    // A first message that is larger than the window could never be answered.
    const isStuck = !this.#hasMessage && this.#consumed >= this.#ownWindow;
    const isDue = this.#takesMore && this.#consumed >= this.#ownWindow / 2;
    if (this.#peerEnded || !(isDue || isStuck)) return;
    this.#shared.outbox.put(windowUpdate(this.id, this.#consumed + streamWindowBytes - this.#ownWindow));
    this.#ownWindow = streamWindowBytes;
    this.#consumed = 0;
  }

  /** The peer has sent data. */
  receive(data: Buffer): void {
    if (this.#told) return;
    try {
      this.#reader.push(data);
    } catch {
      this.#finish(failed);
      this.#leave();
    }
  }

  /** The peer has ended its side. */
  halfClose(): void {
    this.#peerEnded = true;
    this.#leave();
    if (this.#local === 'ended') this.#shared.closed(this);
  }

  /** The peer, or the connection, has ended both. */
  reset(): void {
    this.#local = 'ended';
    this.#waiting = [];
    this.#leave();
    this.#shared.closed(this);
  }

  /** Ends both sides with a code, for a fault of the peer's on this stream. */
  refuse(code: number = errorCode.protocolError): void {
    this.#shared.outbox.put(resetStream(this.id, code));
    this.reset();
  }

  /** Sends what waits as far as the windows go, and tells whoever waits for room. */
  pump(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const length = Math.min(first.length, this.window, this.#shared.window, initialFrameBytes);
      if (length <= 0) return;
      this.window -= length;
      this.#shared.window -= length;
      this.#shared.outbox.putData(this.id, first.subarray(0, length));
      if (length === first.length) this.#waiting.shift();
      else this.#waiting[0] = first.subarray(length);
    }
    if (this.#trailers !== undefined && this.#local === 'ending') this.#close(this.#trailers);
    else if (this.#onRoom !== undefined && this.#hasRoom()) {
      const run = this.#onRoom;
      this.#onRoom = undefined;
      run();
    }
  }

  #hasRoom(): boolean {
    return this.#waiting.length === 0 && !this.#shared.congested();
  }

  #begin(): void {
    if (this.#local !== 'idle') return;
    this.#local = 'open';
    this.#shared.outbox.putFor(this.id, head);
  }

  #finish(trailers: Buffer): void {
    if (this.#local === 'ending' || this.#local === 'ended') return;
    this.#begin();
    this.#onRoom = undefined;
    // A peer whose last data has no window could not end its side.
    this.takeMore();
    if (this.#waiting.length === 0) this.#close(trailers);
    else {
      this.#local = 'ending';
      this.#trailers = trailers;
    }
  }

  #close(trailers: Buffer): void {
    this.#local = 'ended';
    this.#shared.outbox.putFor(this.id, trailers);
    if (this.#peerEnded) this.#shared.closed(this);
  }

  #leave(): void {
    if (this.#told) return;
    this.#told = true;
    this.#onRoom = undefined;
    this.#handler.over();
  }
}
