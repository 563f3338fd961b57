import { type Metadata, ServerInterceptingCall, type ServerInterceptingCallInterface, status } from '@grpc/grpc-js';
import type { AtTurnEnd } from '../../core/clock.ts';
import type { StreamMemory } from './buffered-memory.ts';

/** One gRPC call, with the functions by which its exchange answers it. */
export interface Call {
  /** Sends a message. False: wait for `onRoom` before the next one. Nothing is sent once the call is over. */
  readonly write: (message: Buffer) => boolean;
  /** Calls `run` once, as soon as there is room. Calls it at once if there is room already. */
  readonly onRoom: (run: () => void) => void;
  /** The metadata `traceparent` of the call. */
  readonly traceparent: () => string | undefined;
  /** Reads so many further bytes of bodies. Until it is called, most of a large body stays with Envoy. */
  readonly readMore: (bytes: number) => void;
  /** Ends the call without an error, after all messages that were written. */
  readonly end: () => void;
  /** Ends the call with an error, so that Envoy does as the failure mode of its filter says. */
  readonly fail: () => void;
}

export interface CallHandler<Message> {
  /** May throw, which ends the call with an error. */
  readonly message: (message: Message) => void;
  /** Called when the caller has sent everything, has left, or was answered. May be called more than once. */
  readonly over: () => void;
}

/**
 * Bytes of a body that are read before the body is asked for. The half-close of a caller who leaves comes after the
 * body. Most bodies are smaller than this, so the half-close is seen at once, even while a key is looked up. A large
 * upload of an unknown sender is held up.
 */
const unaskedBytes = 64 * 1024;

/** Bytes of an answer that may wait for Envoy before its writer has to pause. */
const waitingBytes = 32 * 1024;

const ok = { code: status.OK, details: '' };
const notUnderstood = { code: status.INTERNAL, details: 'the message was not understood' };
const failed = { code: status.INTERNAL, details: 'the call failed' };

/** Answers the calls of a connection. */
export interface Answering<Message> {
  /** Makes the handler of a call that begins. */
  readonly open: (call: Call) => CallHandler<Message>;
  /** Called when the call has ended, in whatever way. */
  readonly closed: () => void;
  /** Messages are handled when the turn of the event loop that brought them ends. */
  readonly atTurnEnd: AtTurnEnd;
}

/**
 * A call of ExternalProcessor.Process, answered message by message at the level where grpc-js hands a call to
 * interceptors. That is below its streams, which would read ahead and would send one message at a time. The handler of
 * the service never runs.
 */
export class ProcessCall<Message extends object> extends ServerInterceptingCall implements Call {
  readonly #call: ServerInterceptingCallInterface;
  readonly #answering: Answering<Message>;
  readonly #memory: StreamMemory | undefined;
  #mayRead = unaskedBytes;
  #isHeld = false;
  #isOver = false;
  #waitingBytes = 0;
  #metadata: Metadata | undefined;
  readonly #whenRoom: (() => void)[] = [];

  constructor(call: ServerInterceptingCallInterface, answering: Answering<Message>, memory: StreamMemory | undefined) {
    super(call);
    this.#call = call;
    this.#answering = answering;
    this.#memory = memory;
  }

  override start(): void {
    const call = this.#call;
    const { open, closed, atTurnEnd } = this.#answering;
    const handler = open(this);
    call.start({
      onReceiveMetadata: (metadata) => {
        this.#metadata = metadata;
        call.startRead();
      },
      onReceiveMessage: (message: Message) => {
        this.#memory?.handedOver();
        if ('body' in message && Buffer.isBuffer(message.body)) this.#mayRead -= message.body.length;
        // Before the next read: grpc-js hands over a message that waits already inside that call.
        atTurnEnd(() => this.#handle(handler, message));
        if (this.#mayRead > 0) call.startRead();
        else this.#isHeld = true;
      },
      onReceiveHalfClose: () => atTurnEnd(handler.over),
      onCancel: () => {
        this.#isOver = true;
        handler.over();
        closed();
      },
    });
  }

  #handle(handler: CallHandler<Message>, message: Message): void {
    if (this.#isOver) return;
    try {
      handler.message(message);
    } catch {
      // The error would otherwise end the process, with every other call.
      this.#finish(notUnderstood);
    }
  }

  write(message: Buffer): boolean {
    if (this.#isOver) return false;
    const { length } = message;
    this.#setWaiting(this.#waitingBytes + length);
    this.#call.sendMessage(message, () => {
      this.#setWaiting(this.#waitingBytes - length);
      if (this.#waitingBytes >= waitingBytes) return;
      for (const run of this.#whenRoom.splice(0)) run();
    });
    return this.#waitingBytes < waitingBytes;
  }

  #setWaiting(bytes: number): void {
    this.#waitingBytes = bytes;
    this.#memory?.waiting(bytes);
  }

  onRoom(run: () => void): void {
    if (this.#waitingBytes < waitingBytes) run();
    else this.#whenRoom.push(run);
  }

  traceparent(): string | undefined {
    return this.#metadata?.get('traceparent')[0]?.toString();
  }

  readMore(bytes: number): void {
    this.#mayRead += bytes;
    if (!this.#isHeld || this.#mayRead <= 0) return;
    this.#isHeld = false;
    this.#call.startRead();
  }

  end(): void {
    this.#finish(ok);
  }

  fail(): void {
    this.#finish(failed);
  }

  #finish(end: typeof ok): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.sendStatus(end);
  }
}
