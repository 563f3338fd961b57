import { frameHeadBytes, frameType, putFrameHead } from './frame.ts';
import { messageHeadBytes } from './grpc-messages.ts';

const spaceBytes = 64 * 1024;

/** Where a connection's bytes go. `net.Socket` is one. */
export interface Sink {
  readonly write: (bytes: Buffer) => boolean;
  /** Bytes it has not handed to the kernel yet. */
  readonly writableLength: number;
}

/**
 * What goes out over one connection. Frames of all its streams are put side by side and leave in one write, at the end
 * of the event loop's turn or when the space is full: a system call, and a wake-up of Envoy, costs more than an answer's
 * frames do.
 */
export interface Outbox {
  readonly put: (frame: Buffer) => void;
  /** A frame of another stream, or of none, with this stream's number in its place. */
  readonly putFor: (stream: number, frame: Buffer) => void;
  /** A gRPC message as one DATA frame. The message must fit into a frame. */
  readonly putMessage: (stream: number, message: Buffer) => void;
  readonly putData: (stream: number, data: Buffer) => void;
  /** Sends now what has been put. */
  readonly flush: () => void;
}

export function createOutbox(sink: Sink): Outbox {
  let space = Buffer.allocUnsafeSlow(spaceBytes);
  let used = 0;
  let scheduled = false;

  function flush(): void {
    if (used === 0) return;
    sink.write(space.subarray(0, used));
    used = 0;
    // The kernel has taken a copy of all of it, mostly: then the space is ours again.
    if (sink.writableLength > 0) space = Buffer.allocUnsafeSlow(spaceBytes);
  }

  /** Makes room for so many bytes, and sees to it that they leave. */
  function reserve(bytes: number): void {
    if (used + bytes > spaceBytes) flush();
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      flush();
    });
  }

  function putHead(stream: number, length: number): void {
    used = putFrameHead(space, used, { type: frameType.data, flags: 0, stream, length });
  }

  return {
    flush,
    put: (frame) => {
      reserve(frame.length);
      used += frame.copy(space, used);
    },
    putFor: (stream, frame) => {
      reserve(frame.length);
      frame.copy(space, used);
      space.writeUInt32BE(stream, used + 5);
      used += frame.length;
    },
    putMessage: (stream, message) => {
      reserve(frameHeadBytes + messageHeadBytes + message.length);
      putHead(stream, messageHeadBytes + message.length);
      used = putMessageHead(space, used, message.length);
      used += message.copy(space, used);
    },
    putData: (stream, data) => {
      reserve(frameHeadBytes + data.length);
      putHead(stream, data.length);
      used += data.copy(space, used);
    },
  };
}

/** Writes the five bytes before a message, uncompressed, and gives where they end. */
export function putMessageHead(into: Buffer, at: number, length: number): number {
  into[at] = 0;
  return into.writeUInt32BE(length, at + 1);
}
