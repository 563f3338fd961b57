/**
 * The protobuf bytes of the few ext_proc messages that every request and every streamed chunk goes through, written and
 * read by hand. A test compares it with what @grpc/proto-loader makes of protos/ext_proc.proto: the generic codec builds
 * a tree of objects per message, which costs more than everything else we do with a chunk.
 */
import type { Headers } from '../../core/exchange.ts';

/** What Envoy sends us, reduced to what we read. */
export type ProcessingRequest =
  | { readonly kind: 'headers'; readonly headers: ReadonlyMap<string, string>; readonly endOfStream: boolean }
  | { readonly kind: 'body'; readonly body: Buffer; readonly endOfStream: boolean }
  | { readonly kind: 'trailers' }
  | { readonly kind: 'other' };

// Field numbers of protos/ext_proc.proto, as tags: number << 3 | wire type.
const lengthDelimited = 2;
const tag = (field: number, wireType: number): number => (field << 3) | wireType;
const requestHeaders = tag(2, lengthDelimited);
const requestBody = tag(4, lengthDelimited);
const requestTrailers = tag(6, lengthDelimited);

/** A cursor over one message; `end` bounds it. */
interface Cursor {
  readonly bytes: Buffer;
  at: number;
  readonly end: number;
}

/** No number has more than ten bytes of seven bits. */
const longestVarint = 128 ** 10;

function readVarint(cursor: Cursor): number {
  let value = 0;
  let scale = 1;
  while (cursor.at < cursor.end) {
    const byte = cursor.bytes[cursor.at++] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
    scale *= 128;
    if (scale > longestVarint) throw new Error('ext_proc message has a number that is too long');
  }
  throw new Error('ext_proc message ends inside a number');
}

/** Reads a length and gives a cursor over that many bytes, moving past them. */
function readMessage(cursor: Cursor): Cursor {
  const length = readVarint(cursor);
  const start = cursor.at;
  const end = start + length;
  if (end > cursor.end) throw new Error('ext_proc message ends inside a field');
  cursor.at = end;
  return { bytes: cursor.bytes, at: start, end };
}

function skipBytes(cursor: Cursor, length: number): void {
  cursor.at += length;
  if (cursor.at > cursor.end) throw new Error('ext_proc message ends inside a field');
}

function skip(cursor: Cursor, wireType: number): void {
  switch (wireType) {
    case 0:
      readVarint(cursor);
      return;
    case 1:
      skipBytes(cursor, 8);
      return;
    case lengthDelimited:
      readMessage(cursor);
      return;
    case 5:
      skipBytes(cursor, 4);
      return;
    default:
      throw new Error(`ext_proc message has an unknown wire type ${wireType}`);
  }
}

function readHeader(cursor: Cursor, into: Map<string, string>): void {
  let key = '';
  let value = '';
  while (cursor.at < cursor.end) {
    const field = readVarint(cursor);
    if (field === 0x0a || field === 0x12 || field === 0x1a) {
      const { bytes, at, end } = readMessage(cursor);
      if (end === at) continue;
      // Header values are bytes; latin1 keeps every one of them.
      const text = bytes.toString('latin1', at, end);
      if (field === 0x0a) key = text;
      else value = text;
    } else skip(cursor, field & 7);
  }
  // The first value wins: a caller cannot override what stands before.
  if (!into.has(key)) into.set(key, value);
}

function readHeaders(cursor: Cursor): ProcessingRequest {
  const headers = new Map<string, string>();
  let endOfStream = false;
  while (cursor.at < cursor.end) {
    const field = readVarint(cursor);
    if (field === 0x0a) {
      const map = readMessage(cursor);
      while (map.at < map.end) {
        const entry = readVarint(map);
        if (entry === 0x0a) readHeader(readMessage(map), headers);
        else skip(map, entry & 7);
      }
    } else if (field === 0x18) endOfStream = readVarint(cursor) !== 0;
    else skip(cursor, field & 7);
  }
  return { kind: 'headers', headers, endOfStream };
}

function readBody(cursor: Cursor): ProcessingRequest {
  let body: Buffer = cursor.bytes.subarray(0, 0);
  let endOfStream = false;
  while (cursor.at < cursor.end) {
    const field = readVarint(cursor);
    if (field === 0x0a) {
      const piece = readMessage(cursor);
      body = cursor.bytes.subarray(piece.at, piece.end);
    } else if (field === 0x10) endOfStream = readVarint(cursor) !== 0;
    else skip(cursor, field & 7);
  }
  return { kind: 'body', body, endOfStream };
}

/** Reads one ProcessingRequest. Throws when the bytes are not one. */
export function readProcessingRequest(bytes: Buffer): ProcessingRequest {
  const cursor: Cursor = { bytes, at: 0, end: bytes.length };
  let request: ProcessingRequest = { kind: 'other' };
  while (cursor.at < cursor.end) {
    const field = readVarint(cursor);
    if (field === requestHeaders) request = readHeaders(readMessage(cursor));
    else if (field === requestBody) request = readBody(readMessage(cursor));
    else if (field === requestTrailers) {
      readMessage(cursor);
      request = { kind: 'trailers' };
    } else skip(cursor, field & 7);
  }
  return request;
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) length += 1;
  return length;
}

function writeVarint(into: Buffer, at: number, value: number): number {
  let rest = value;
  let position = at;
  while (rest >= 128) {
    into[position++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  into[position++] = rest;
  return position;
}

const fieldLength = (content: number): number => 1 + varintLength(content) + content;

/** ProcessingResponse: immediate_response is field 7, streamed_immediate_response field 11, both length-delimited. */
const immediateResponse = tag(7, lengthDelimited);
const streamedImmediateResponse = tag(11, lengthDelimited);

/** A buffer being filled from the front. */
interface Sink {
  readonly bytes: Buffer;
  at: number;
}

function putLength(sink: Sink, field: number, length: number): void {
  sink.at = writeVarint(sink.bytes, writeVarint(sink.bytes, sink.at, field), length);
}

function putText(sink: Sink, field: number, text: string, length: number): void {
  putLength(sink, field, length);
  sink.at += sink.bytes.write(text, sink.at);
}

function putFlag(sink: Sink, field: number): void {
  sink.bytes[sink.at++] = field;
  sink.bytes[sink.at++] = 1;
}

/** HeaderValue{key = 1, raw_value = 3}, for each header. */
function headerSizes(headers: Headers): readonly number[] {
  return headers.map(([name, value]) => fieldLength(Buffer.byteLength(name)) + fieldLength(Buffer.byteLength(value)));
}

function putHeader(sink: Sink, [name, value]: Headers[number]): void {
  putText(sink, 0x0a, name, Buffer.byteLength(name));
  putText(sink, 0x1a, value, Buffer.byteLength(value));
}

/** Encodes the start of an answer that comes in pieces: `:status` and the headers. */
export function writeStart(status: number, headers: Headers): Buffer {
  const all: Headers = [[':status', String(status)], ...headers];
  const sizes = headerSizes(all);
  const mapLength = sizes.reduce((sum, size) => sum + fieldLength(size), 0);
  const headersLength = fieldLength(mapLength);
  const responseLength = fieldLength(headersLength);
  const sink: Sink = { bytes: Buffer.allocUnsafe(fieldLength(responseLength)), at: 0 };
  putLength(sink, streamedImmediateResponse, responseLength);
  putLength(sink, 0x0a, headersLength);
  putLength(sink, 0x0a, mapLength);
  all.forEach((header, index) => {
    putLength(sink, 0x0a, sizes[index] ?? 0);
    putHeader(sink, header);
  });
  return sink.bytes;
}

/** Encodes a piece of the answer's body. */
export function writeBody(text: string, endOfStream: boolean): Buffer {
  const length = Buffer.byteLength(text);
  const bodyLength = (length === 0 ? 0 : fieldLength(length)) + (endOfStream ? 2 : 0);
  const responseLength = fieldLength(bodyLength);
  const sink: Sink = { bytes: Buffer.allocUnsafe(fieldLength(responseLength)), at: 0 };
  putLength(sink, streamedImmediateResponse, responseLength);
  putLength(sink, 0x12, bodyLength);
  if (length > 0) putText(sink, 0x0a, text, length);
  if (endOfStream) putFlag(sink, 0x10);
  return sink.bytes;
}

/** `ImmediateResponse.details` of a whole answer: Envoy's own replies have others, and are put into the envelope by it. */
const ownDetails = 'weir';

/** Encodes a whole answer in one message. HeaderValueOption{header = 1, append_action = 3: OVERWRITE_IF_EXISTS_OR_ADD}. */
export function writeReply(status: number, headers: Headers, body: string): Buffer {
  const sizes = headerSizes(headers);
  const optionSizes = sizes.map((size) => fieldLength(size) + 2);
  const headersLength = optionSizes.reduce((sum, size) => sum + fieldLength(size), 0);
  const statusLength = 1 + varintLength(status);
  const length = Buffer.byteLength(body);
  const replyLength =
    fieldLength(statusLength) +
    fieldLength(headersLength) +
    (length === 0 ? 0 : fieldLength(length)) +
    fieldLength(ownDetails.length);
  const sink: Sink = { bytes: Buffer.allocUnsafe(fieldLength(replyLength)), at: 0 };
  putLength(sink, immediateResponse, replyLength);
  putLength(sink, 0x0a, statusLength);
  putLength(sink, 0x08, status);
  putLength(sink, 0x12, headersLength);
  headers.forEach((header, index) => {
    putLength(sink, 0x0a, optionSizes[index] ?? 0);
    putLength(sink, 0x0a, sizes[index] ?? 0);
    putHeader(sink, header);
    sink.bytes[sink.at++] = 0x18;
    sink.bytes[sink.at++] = 2;
  });
  if (length > 0) putText(sink, 0x1a, body, length);
  putText(sink, 0x2a, ownDetails, ownDetails.length);
  return sink.bytes;
}
