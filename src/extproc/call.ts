import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { ProcessingRequest } from './wire.ts';

/** gRPC's stream of one HTTP request: messages of Envoy's in, encoded answers out. */
export type ProcessStream = ServerDuplexStream<ProcessingRequest, Buffer>;

/** One gRPC call, as its exchange answers it. */
export interface Call {
  /** Sends a message. False: hold the next one back until `onRoom` runs. Nothing is sent once the call is over. */
  readonly write: (message: Buffer) => boolean;
  /** Calls `run` once, as soon as there is room; at once when there is. */
  readonly onRoom: (run: () => void) => void;
  /** Reads all of the body. Until then most of a large one stays with Envoy. */
  readonly takeMore: () => void;
  /** Ends the call well, after what was written. */
  readonly end: () => void;
}

/** Whoever answers a call. */
export interface CallHandler {
  /** May throw, which ends the call with an error. */
  readonly message: (message: ProcessingRequest) => void;
  /** The caller has no more to say, or is gone, or was answered. May come more than once. */
  readonly over: () => void;
}

/**
 * What is read of a body that nobody has asked for. The half-close of a caller who leaves stands behind the body: with most
 * bodies it is seen at once, also while a key is looked up, and a large upload whose sender is not known yet is held up.
 */
const unaskedBytes = 64 * 1024;

/**
 * Lets go of the request when its call is over. V8 makes a function that is assigned to a property in the old generation, and
 * Node has one in each stream (`WritableState.onwrite`): what a dead stream still refers to would live as long as that does.
 */
function release(stream: ProcessStream): void {
  for (const event of ['data', 'end', 'drain']) stream.removeAllListeners(event);
  stream._read = readNothing;
}

function readNothing(): void {
  // The stream is over.
}

/** Has a stream answered by the handler that `open` makes, message by message. */
export function answerStream(stream: ProcessStream, open: (call: Call) => CallHandler): void {
  // By itself a stream that is paused reads sixteen messages ahead, which is most of a MiB.
  let mayRead = unaskedBytes;
  let isHeld = false;
  const readNext = stream._read.bind(stream);
  const readIfAllowed = (size: number): void => {
    if (mayRead > 0) readNext(size);
    else isHeld = true;
  };
  // Not a function literal right here: see `release`.
  stream._read = readIfAllowed;
  const handler = open({
    write: (message) => stream.writable && stream.write(message),
    onRoom: (run) => {
      if (stream.writableNeedDrain) stream.once('drain', run);
      else run();
    },
    takeMore: () => {
      mayRead = Infinity;
      if (!isHeld) return;
      isHeld = false;
      readNext(stream.readableHighWaterMark);
    },
    end: () => {
      if (stream.writable) stream.end();
    },
  });
  stream.on('data', (message: ProcessingRequest) => {
    try {
      if (message.kind === 'body') mayRead -= message.body.length;
      handler.message(message);
    } catch {
      // It would otherwise be an unhandled rejection, and end the process with every other call.
      stream.emit('error', { code: status.INTERNAL, details: 'the message was not understood' });
    }
  });
  stream.on('end', handler.over);
  // Comes whenever the call ends, ended by us or not.
  stream.once('cancelled', () => {
    handler.over();
    release(stream);
  });
}
