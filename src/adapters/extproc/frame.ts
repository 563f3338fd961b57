/**
 * The frames of HTTP/2 (RFC 9113 §4, §6), as far as one gRPC method over one private socket needs them.
 * docs/decisions/0008 says why they are written by hand.
 */
export const frameHeadBytes = 9;

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const setting = { maxConcurrentStreams: 3, initialWindowSize: 4 } as const;

/** RFC 9113 §7. */
export const errorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  frameSizeError: 6,
  refusedStream: 7,
  enhanceYourCalm: 11,
} as const;

/** What both sides start from (RFC 9113 §6.5.2). */
export const initialWindowBytes = 65_535;
/** Also the largest frame that either side sends here: the least that every peer takes. */
export const initialFrameBytes = 16_384;
/** A window never passes this (RFC 9113 §6.9.1). */
export const largestWindowBytes = 2 ** 31 - 1;

/** The peer broke a rule that concerns the whole connection, which must end with this code (RFC 9113 §5.4.1). */
export class ConnectionFault extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = 'ConnectionFault';
    this.code = code;
  }
}

export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly length: number;
}

/** Writes the nine bytes before a frame's payload, and gives where they end. */
export function putFrameHead(into: Buffer, at: number, { type, flags, stream, length }: FrameHead): number {
  into[at] = length >>> 16;
  into[at + 1] = (length >>> 8) & 0xff;
  into[at + 2] = length & 0xff;
  into[at + 3] = type;
  into[at + 4] = flags;
  into.writeUInt32BE(stream, at + 5);
  return at + frameHeadBytes;
}

/** A whole frame. For the few that are rare; data goes through `Outbox`. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + payload.length);
  bytes.set(payload, putFrameHead(bytes, 0, { type, flags, stream, length: payload.length }));
  return bytes;
}

export function windowUpdate(stream: number, increment: number): Buffer {
  return frame(frameType.windowUpdate, 0, stream, number32(increment));
}

export function resetStream(stream: number, code: number): Buffer {
  return frame(frameType.resetStream, 0, stream, number32(code));
}

export function goAway(lastStream: number, code: number): Buffer {
  return frame(frameType.goAway, 0, 0, Buffer.concat([number32(lastStream), number32(code)]));
}

export function settings(values: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(values.length * 6);
  values.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  });
  return frame(frameType.settings, 0, 0, payload);
}

function number32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
