import { ByNumber } from '../../core/by-number.ts';
import {
  ConnectionFault,
  errorCode,
  flag,
  frame,
  frameType,
  goAway,
  initialWindowBytes,
  largestWindowBytes,
  resetStream,
  setting,
  settings,
  windowUpdate,
} from './frame.ts';
import { createFrameReader, type Frame, withoutPadding } from './frame-reader.ts';
import { type Call, type CallHandler, firstWindowBytes, GrpcStream, type Shared } from './grpc-stream.ts';
import { createOutbox, type Sink } from './outbox.ts';

/** Bytes Envoy may have on the way to us on all streams of a connection together. */
const connectionWindowBytes = 16 * 1024 * 1024;

/** More than a machine can hold; without it Envoy would stop at its own assumption. */
const maxConcurrentStreams = 1_000_000;

/** What one header block may take in continuation frames. Envoy's are a few hundred bytes. */
const largestBlockBytes = 64 * 1024;

export interface ConnectionOptions {
  readonly socket: Sink & { readonly writableNeedDrain: boolean };
  /** Makes the handler of a new call. */
  readonly open: (call: Call) => CallHandler;
  /** The peer does not speak the protocol: every call on the connection ends now. */
  readonly broken?: () => void;
  /** The connection is of no more use, and may be closed once what it was given has left. */
  readonly finished: () => void;
}

/** The server's side of one HTTP/2 connection on which every stream is a call of the same gRPC method. */
export interface Connection {
  readonly receive: (bytes: Buffer) => void;
  /** The socket has room again. */
  readonly drained: () => void;
  /** Takes no more streams, and is finished when the last one has ended. */
  readonly drain: () => void;
  /** The socket is gone: every stream ends. */
  readonly lost: () => void;
  readonly open: () => number;
}

/**
 * Speaks HTTP/2 (RFC 9113) with one peer. What header blocks say is not read: every stream is the one call there is, so
 * no HPACK state is needed to understand the next.
 */
export function createConnection({ socket, open, broken, finished }: ConnectionOptions): Connection {
  const outbox = createOutbox(socket);
  const streams = new ByNumber<GrpcStream>();
  let lastStream = 0;
  let peerWindow = initialWindowBytes;
  let consumed = 0;
  /** A header block whose end has not come. */
  let block: { readonly stream: number; readonly endStream: boolean; bytes: number } | undefined;
  let phase: 'open' | 'draining' | 'over' = 'open';

  const shared: Shared = {
    outbox,
    window: initialWindowBytes,
    congested: () => socket.writableNeedDrain,
    closed: (stream) => {
      streams.delete(stream.id);
      finishIfIdle();
    },
  };

  function finishIfIdle(): void {
    if (phase !== 'draining' || streams.size > 0) return;
    phase = 'over';
    outbox.flush();
    finished();
  }

  function fail(code: number): void {
    if (phase === 'over') return;
    phase = 'over';
    outbox.put(goAway(lastStream, code));
    outbox.flush();
    broken?.();
    lost();
    finished();
  }

  function lost(): void {
    phase = 'over';
    for (const stream of streams.values()) stream.reset();
  }

  function onFrame(received: Frame): void {
    if (phase === 'over') return;
    const { type, stream, payload } = received;
    if (block !== undefined && type !== frameType.continuation) {
      throw new ConnectionFault(errorCode.protocolError, 'a header block was left unfinished');
    }
    switch (type) {
      case frameType.data:
        return onData(received);
      case frameType.headers:
        withoutPadding(received);
        return onHeaders(received);
      case frameType.continuation:
        return onContinuation(received);
      case frameType.resetStream:
        streams.get(stream)?.reset();
        return undefined;
      case frameType.settings:
        return onSettings(received);
      case frameType.ping:
        if ((received.flags & flag.ack) === 0) outbox.put(frame(frameType.ping, flag.ack, 0, payload));
        return undefined;
      case frameType.windowUpdate:
        return onWindowUpdate(received);
      case frameType.pushPromise:
        throw new ConnectionFault(errorCode.protocolError, 'a client cannot push');
      default:
        // PRIORITY and GOAWAY ask nothing of us; what is unknown is to be ignored (RFC 9113 §4.1).
        return undefined;
    }
  }

  function onHeaders({ stream, flags }: Frame): void {
    if (stream % 2 === 0) throw new ConnectionFault(errorCode.protocolError, 'a stream that is not a client’s');
    const endStream = (flags & flag.endStream) !== 0;
    if ((flags & flag.endHeaders) !== 0) onBlock(stream, endStream);
    else block = { stream, endStream, bytes: 0 };
  }

  function onContinuation({ stream, flags, payload }: Frame): void {
    if (block?.stream !== stream) throw new ConnectionFault(errorCode.protocolError, 'a continuation of nothing');
    block.bytes += payload.length + 1;
    if (block.bytes > largestBlockBytes) throw new ConnectionFault(errorCode.enhanceYourCalm, 'endless headers');
    if ((flags & flag.endHeaders) === 0) return;
    const { endStream } = block;
    block = undefined;
    onBlock(stream, endStream);
  }

  function onBlock(id: number, endStream: boolean): void {
    let stream = streams.get(id);
    if (stream === undefined) {
      // The trailers of a stream that we have forgotten.
      if (id <= lastStream) return;
      lastStream = id;
      if (phase === 'draining') {
        outbox.put(resetStream(id, errorCode.refusedStream));
        return;
      }
      stream = new GrpcStream(id, peerWindow, { shared, open });
      streams.set(id, stream);
    }
    if (endStream) stream.halfClose();
  }

  function onData(received: Frame): void {
    const { stream: id, flags } = received;
    // Padding takes from the windows as well (RFC 9113 §6.9.1).
    const { length } = received.payload;
    consumed += length;
    if (consumed >= connectionWindowBytes / 2) {
      outbox.put(windowUpdate(0, consumed));
      consumed = 0;
    }
    const stream = streams.get(id);
    if (stream === undefined) {
      if (id === 0 || id > lastStream) throw new ConnectionFault(errorCode.protocolError, 'data of no stream');
      return;
    }
    const endStream = (flags & flag.endStream) !== 0;
    stream.consume(length, endStream);
    stream.receive(withoutPadding(received));
    if (endStream) stream.halfClose();
  }

  function onSettings({ flags, payload }: Frame): void {
    if ((flags & flag.ack) !== 0) return;
    if (payload.length % 6 !== 0) throw new ConnectionFault(errorCode.frameSizeError, 'settings cut short');
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== setting.initialWindowSize) continue;
      const value = payload.readUInt32BE(at + 2);
      if (value > largestWindowBytes) throw new ConnectionFault(errorCode.flowControlError, 'window too large');
      // It holds for the streams that are open, too, whose windows may become negative (RFC 9113 §6.9.2).
      for (const stream of streams.values()) stream.window += value - peerWindow;
      peerWindow = value;
    }
    outbox.put(frame(frameType.settings, flag.ack, 0, Buffer.alloc(0)));
    pumpAll();
  }

  function onWindowUpdate({ stream: id, payload }: Frame): void {
    if (payload.length !== 4) throw new ConnectionFault(errorCode.frameSizeError, 'a window update of another size');
    const increment = payload.readUInt32BE(0) & largestWindowBytes;
    if (id === 0) {
      shared.window += increment;
      if (increment === 0 || shared.window > largestWindowBytes) {
        throw new ConnectionFault(errorCode.flowControlError, 'an impossible window');
      }
      pumpAll();
      return;
    }
    const stream = streams.get(id);
    if (stream === undefined) return;
    stream.window += increment;
    if (increment === 0 || stream.window > largestWindowBytes) stream.refuse(errorCode.flowControlError);
    else stream.pump();
  }

  function pumpAll(): void {
    for (const stream of streams.values()) stream.pump();
  }

  const reader = createFrameReader(onFrame);
  outbox.put(
    settings([
      [setting.maxConcurrentStreams, maxConcurrentStreams],
      [setting.initialWindowSize, firstWindowBytes],
    ]),
  );
  outbox.put(windowUpdate(0, connectionWindowBytes - initialWindowBytes));

  return {
    open: () => streams.size,
    receive: (bytes) => {
      try {
        reader.push(bytes);
      } catch (error) {
        if (!(error instanceof ConnectionFault)) throw error;
        fail(error.code);
      }
    },
    drained: pumpAll,
    drain: () => {
      if (phase !== 'open') return;
      phase = 'draining';
      outbox.put(goAway(lastStream, errorCode.noError));
      finishIfIdle();
    },
    lost,
  };
}
