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
  /** Reads what follows the head. Until then it stays with Envoy, but for what fits into the stream's window. */
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

/** Has a stream answered by the handler that `open` makes, message by message. */
export function answerStream(stream: ProcessStream, open: (call: Call) => CallHandler): void {
  // A stream reads sixteen messages ahead of its reader: most of a MiB of an upload whose sender is not known yet.
  let reads: 'head' | 'nothing' | 'all' = 'head';
  let isHeld = false;
  const readNext = stream._read.bind(stream);
  stream._read = (size) => {
    if (reads === 'nothing') isHeld = true;
    else readNext(size);
  };
  const handler = open({
    write: (message) => stream.writable && stream.write(message),
    onRoom: (run) => {
      if (stream.writableNeedDrain) stream.once('drain', run);
      else run();
    },
    takeMore: () => {
      reads = 'all';
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
      if (reads === 'head' && message.kind === 'headers') reads = message.endOfStream ? 'all' : 'nothing';
      handler.message(message);
    } catch {
      // It would otherwise be an unhandled rejection, and end the process with every other call.
      stream.emit('error', { code: status.INTERNAL, details: 'the message was not understood' });
    }
  });
  stream.on('end', handler.over);
  // Comes whenever the call ends, ended by us or not.
  stream.on('cancelled', handler.over);
}
