import { uploadStepBytes } from '../../core/exchange.ts';

/** A body up to this size is in plain memory that doubles: reused pages cost less than fresh ones. */
const maxPlainBytes = 2 * 1024 * 1024;
const minBytes = 4 * 1024;

/**
 * Address space that is reserved for a larger body, more than any body may have. It uses no memory before bytes arrive.
 */
const reservedBytes = 64 * 1024 * 1024;

/**
 * Puts a request body together from the pieces in which it arrives. Its memory grows with the bytes that have arrived,
 * whatever length was declared.
 */
export type BodyCollector = ReturnType<typeof createBodyCollector>;

/**
 * Collects a body. A large body is in an ArrayBuffer that is resized in place, page by page. Pieces that are joined at
 * the end would cost a third of the event loop's time in garbage collection (measured with ten bodies of 32 MiB). The
 * declared length only limits the last step.
 */
export function createBodyCollector(declaredBytes = Infinity) {
  let memory = new ArrayBuffer(0);
  /** A view of all of `memory`. Its length follows when `memory` is resized. */
  let view = new Uint8Array(memory);
  let received = 0;
  /** A body that came in one piece. */
  let whole: Buffer | undefined;

  function memoryFor(bytes: number): number {
    if (bytes <= memory.byteLength) return memory.byteLength;
    if (bytes > maxPlainBytes) return Math.ceil(bytes / uploadStepBytes) * uploadStepBytes;
    const doubled = Math.max(minBytes, 2 ** Math.ceil(Math.log2(bytes)));
    return declaredBytes >= bytes ? Math.min(doubled, declaredBytes) : doubled;
  }

  function growTo(bytes: number): void {
    if (bytes <= memory.byteLength) return;
    const size = memoryFor(bytes);
    if (memory.resizable) {
      memory.resize(size);
      return;
    }
    const isLarge = size > maxPlainBytes;
    const larger = isLarge
      ? new ArrayBuffer(size, { maxByteLength: reservedBytes })
      : Buffer.allocUnsafeSlow(size).buffer;
    const all = new Uint8Array(larger);
    all.set(view.subarray(0, received));
    free();
    memory = larger;
    view = all;
  }

  function free(): void {
    // A buffer whose memory was moved out has none any more.
    if (!memory.detached) memory.transferToFixedLength(0);
  }

  return {
    bytes: (): number => received,
    /** Memory that the body will take when it has so many bytes. */
    memoryFor,
    /**
     * Adds a piece. Copies a piece that is not the whole body, because the piece is a view of all bytes that the socket
     * read with it.
     */
    add: (piece: Buffer, isLast: boolean): void => {
      if (received === 0 && isLast) whole = piece;
      else {
        growTo(received + piece.length);
        view.set(piece, received);
      }
      received += piece.length;
    },
    /** The whole body, in memory of its own unless it came in one piece. Nothing may be added afterwards. */
    take: (): Uint8Array => {
      if (whole !== undefined) return whole;
      if (memory.resizable) memory.resize(received);
      else if (memory.byteLength > received) view = new Uint8Array(memory.transfer(received));
      return view;
    },
    /** Frees the memory now, and not when garbage is next collected. Nothing may be added afterwards. */
    discard: (): void => {
      whole = undefined;
      free();
    },
  };
}
