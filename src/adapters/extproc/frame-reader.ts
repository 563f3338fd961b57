import { ConnectionFault, errorCode, flag, frameHeadBytes, initialFrameBytes } from './frame.ts';

/** What a client sends first (RFC 9113 §3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** A view of the bytes that were pushed: whoever keeps it keeps all of them. */
  readonly payload: Buffer;
}

/**
 * Cuts a connection's bytes into frames, however they arrive. `push` throws ConnectionFault on what is no HTTP/2 and on
 * a frame over the size we allow; the caller's own faults pass through.
 */
export function createFrameReader(onFrame: (frame: Frame) => void): { readonly push: (bytes: Buffer) => void } {
  /** The beginning of a frame whose end has not come: less than a frame's largest size. */
  let rest: Buffer | undefined;
  let greeted = false;

  return {
    push: (bytes) => {
      const input = rest === undefined ? bytes : Buffer.concat([rest, bytes]);
      let at = 0;
      if (!greeted) {
        const seen = Math.min(preface.length, input.length);
        if (preface.compare(input, 0, seen, 0, seen) !== 0) {
          throw new ConnectionFault(errorCode.protocolError, 'not HTTP/2');
        }
        greeted = seen === preface.length;
        if (greeted) at = seen;
      }
      while (greeted && input.length - at >= frameHeadBytes) {
        const length = input.readUIntBE(at, 3);
        if (length > initialFrameBytes) throw new ConnectionFault(errorCode.frameSizeError, 'frame too long');
        const start = at + frameHeadBytes;
        const end = start + length;
        if (end > input.length) break;
        at = end;
        onFrame({
          type: input[start - 6] ?? 0,
          flags: input[start - 5] ?? 0,
          stream: input.readUInt32BE(start - 4) & 0x7fffffff,
          payload: input.subarray(start, end),
        });
      }
      rest = at < input.length ? input.subarray(at) : undefined;
    },
  };
}

/** The payload of a DATA or HEADERS frame without its padding (RFC 9113 §6.1). Throws ConnectionFault when there is more padding than frame. */
export function withoutPadding({ flags, payload }: Frame): Buffer {
  if ((flags & flag.padded) === 0) return payload;
  const end = payload.length - (payload[0] ?? 0);
  if (payload.length === 0 || end < 1) throw new ConnectionFault(errorCode.protocolError, 'more padding than frame');
  return payload.subarray(1, end);
}
