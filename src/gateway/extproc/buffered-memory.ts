import type { ServerHttp2Stream } from 'node:http2';

/**
 * Memory of gRPC messages that are not complete, and of answers that the peer does not read, over all connections of a port up to a
 * bound. Without it, many calls could each hold a message of the maximum length. Beyond the bound, the connection that holds most of the
 * sender that holds most is cut: if single streams were reset, the unread bytes on them would still take from the window of the
 * connection, and its other streams would wait forever.
 */
export type BufferedMemory = ReturnType<typeof createBufferedMemory>;

export type ConnectionMemory = ReturnType<BufferedMemory['join']>;

export type StreamMemory = ReturnType<typeof followStream>;

interface Holder {
  readonly sender: string;
  readonly cut: () => void;
  bytes: number;
}

/**
 * A piece of a message keeps all bytes in memory that the socket has read with it. Pieces in frames of the usual size count as they are,
 * and smaller ones as this much at most, so that pieces of one byte cannot hold more than a few times the bound.
 */
const maxKeptBytes = 16 * 1024;
/** The objects of a piece. */
const pieceBytes = 512;

const sizeOf = ({ length, buffer }: Uint8Array): number =>
  Math.max(length, Math.min(buffer.byteLength, maxKeptBytes)) + pieceBytes;

export function createBufferedMemory(maxBytes: number) {
  const holders = new Set<Holder>();
  let held = 0;

  function largest(): Holder | undefined {
    const bySender = Map.groupBy(holders, ({ sender }) => sender);
    const sumOf = (of: readonly Holder[]): number => of.reduce((sum, { bytes }) => sum + bytes, 0);
    const [most] = [...bySender.values()].toSorted((one, other) => sumOf(other) - sumOf(one));
    return most?.toSorted((one, other) => other.bytes - one.bytes)[0];
  }

  function leave(holder: Holder): void {
    if (holders.delete(holder)) held -= holder.bytes;
  }

  function add(holder: Holder, bytes: number): void {
    if (!holders.has(holder)) return;
    holder.bytes += bytes;
    held += bytes;
    if (held <= maxBytes) return;
    const most = largest();
    if (most === undefined) return;
    leave(most);
    most.cut();
  }

  return {
    /** `cut` ends the connection. It is called at most once, inside a read. */
    join: (sender: string, cut: () => void) => {
      const holder: Holder = { sender, cut, bytes: 0 };
      const streams = new WeakMap<object, StreamMemory>();
      holders.add(holder);
      return {
        /** Call at the start of a stream. */
        follow: (stream: ServerHttp2Stream): void => {
          streams.set(
            stream,
            followStream(stream, (bytes) => add(holder, bytes)),
          );
        },
        /** Of a stream that is followed. */
        of: (stream: object): StreamMemory | undefined => streams.get(stream),
        closed: (): void => leave(holder),
      };
    },
  };
}

function followStream(stream: ServerHttp2Stream, add: (bytes: number) => void) {
  let received = 0;
  let waiting = 0;
  let isClosed = false;
  function setReceived(bytes: number): void {
    if (isClosed) return;
    add(bytes - received);
    received = bytes;
  }
  // Bytes that arrive while the stream is paused cause no event.
  stream.push = countedPush(stream, (bytes) => setReceived(received + bytes));
  stream.once('close', () => {
    add(-received - waiting);
    isClosed = true;
  });
  return {
    /** A message was handed over. Only what has arrived after it is held from now on. */
    handedOver: (): void => setReceived(stream.readableLength),
    /** So many bytes of an answer wait to be read. */
    waiting: (bytes: number): void => {
      if (isClosed) return;
      add(bytes - waiting);
      waiting = bytes;
    },
  };
}

function countedPush(stream: ServerHttp2Stream, count: (bytes: number) => void): ServerHttp2Stream['push'] {
  const push = stream.push.bind(stream);
  return (piece: unknown, encoding?: BufferEncoding) => {
    if (piece instanceof Uint8Array) count(sizeOf(piece));
    return push(piece, encoding);
  };
}
