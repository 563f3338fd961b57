/**
 * Reads and writes the protobuf bytes of the few ext_proc messages that every request and every streamed chunk uses,
 * field by field. A test compares it with @grpc/proto-loader on protos/ext_proc.proto. The generic codec builds a tree
 * of objects per message, which costs more than all other work on a chunk.
 */
import protobuf, { type BufferReader, type Writer } from 'protobufjs/minimal.js';
import type { Headers } from '../../core/headers.ts';
import { tagsHeader } from '../../core/tags.ts';

/** The messages of Envoy, reduced to the fields that we read. */
export type ProcessingRequest =
  | { readonly kind: 'headers'; readonly headers: ReadonlyMap<string, string>; readonly endOfStream: boolean }
  | { readonly kind: 'body'; readonly body: Buffer; readonly endOfStream: boolean }
  | { readonly kind: 'trailers' }
  | { readonly kind: 'other' };

// The fields of protos/ext_proc.proto that we read or write, as their tags: number << 3 | wire type.
const bytesTag = (field: number): number => (field << 3) | 2;
const varintTag = (field: number): number => field << 3;

const processingRequest = { requestHeaders: bytesTag(2), requestBody: bytesTag(4), requestTrailers: bytesTag(6) };
const processingResponse = { immediateResponse: bytesTag(7), streamedImmediateResponse: bytesTag(11) };
const httpHeaders = { headers: bytesTag(1), endOfStream: varintTag(3) };
const httpBody = { body: bytesTag(1), endOfStream: varintTag(2) };
const headerMap = { headers: bytesTag(1) };
const headerValue = { key: bytesTag(1), value: bytesTag(2), rawValue: bytesTag(3) };
const streamedImmediateResponse = { headersResponse: bytesTag(1), bodyResponse: bytesTag(2) };
const streamedBodyResponse = { body: bytesTag(1), endOfStream: varintTag(2) };
const immediateResponse = { status: bytesTag(1), headers: bytesTag(2), body: bytesTag(3), details: bytesTag(5) };
const httpStatus = { code: varintTag(1) };
const headerMutation = { setHeaders: bytesTag(1) };
const headerValueOption = { header: bytesTag(1), appendAction: varintTag(3) };
/** A value of `append_action`. */
const overwriteIfExistsOrAdd = 2;

/** Reads the length of a message, and returns where the message ends. */
const messageEnd = (reader: BufferReader): number => reader.uint32() + reader.pos;

/** A field must end within its message. The reader itself only knows the end of all bytes. */
function checkEnd(reader: BufferReader, end: number): void {
  if (reader.pos !== end) throw new Error('a field ends after its message');
}

/** Moves past a field's bytes, and returns where they begin. They end at the reader's new position. */
function skipBytes(reader: BufferReader): number {
  const length = reader.uint32();
  const start = reader.pos;
  reader.skip(length);
  return start;
}

/** Header values are bytes; latin1 keeps every one of them. */
const readLatin1 = (reader: BufferReader, bytes: Buffer): string =>
  bytes.toString('latin1', skipBytes(reader), reader.pos);

function readHeader(reader: BufferReader, bytes: Buffer, into: Map<string, string>): void {
  let key = '';
  let value = '';
  const end = messageEnd(reader);
  while (reader.pos < end) {
    const field = reader.uint32();
    if (field === headerValue.key) key = readLatin1(reader, bytes);
    else if (field === headerValue.value || field === headerValue.rawValue) value = readLatin1(reader, bytes) || value;
    else reader.skipType(field & 7);
  }
  checkEnd(reader, end);
  const first = into.get(key);
  if (first === undefined) into.set(key, value);
  // A list may have several lines (RFC 9110, section 5.3). Of other headers the first line wins: a caller cannot
  // override it with a later one.
  else if (key === tagsHeader || key === 'content-encoding') into.set(key, `${first},${value}`);
}

function readHeaderMap(reader: BufferReader, bytes: Buffer, into: Map<string, string>): void {
  const end = messageEnd(reader);
  while (reader.pos < end) {
    const field = reader.uint32();
    if (field === headerMap.headers) readHeader(reader, bytes, into);
    else reader.skipType(field & 7);
  }
  checkEnd(reader, end);
}

function readHeaders(reader: BufferReader, bytes: Buffer): ProcessingRequest {
  const headers = new Map<string, string>();
  let endOfStream = false;
  const end = messageEnd(reader);
  while (reader.pos < end) {
    const field = reader.uint32();
    if (field === httpHeaders.headers) readHeaderMap(reader, bytes, headers);
    else if (field === httpHeaders.endOfStream) endOfStream = reader.bool();
    else reader.skipType(field & 7);
  }
  checkEnd(reader, end);
  return { kind: 'headers', headers, endOfStream };
}

function readBody(reader: BufferReader, bytes: Buffer): ProcessingRequest {
  let body = bytes.subarray(0, 0);
  let endOfStream = false;
  const end = messageEnd(reader);
  while (reader.pos < end) {
    const field = reader.uint32();
    if (field === httpBody.body) body = bytes.subarray(skipBytes(reader), reader.pos);
    else if (field === httpBody.endOfStream) endOfStream = reader.bool();
    else reader.skipType(field & 7);
  }
  checkEnd(reader, end);
  return { kind: 'body', body, endOfStream };
}

/** Reads one ProcessingRequest. Throws when the bytes are no ProcessingRequest. */
export function readProcessingRequest(bytes: Buffer): ProcessingRequest {
  const reader = new protobuf.BufferReader(bytes);
  let request: ProcessingRequest = { kind: 'other' };
  try {
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === processingRequest.requestHeaders) request = readHeaders(reader, bytes);
      else if (field === processingRequest.requestBody) request = readBody(reader, bytes);
      else {
        if (field === processingRequest.requestTrailers) request = { kind: 'trailers' };
        reader.skipType(field & 7);
      }
    }
  } catch (cause) {
    throw new Error('ext_proc message cannot be read', { cause });
  }
  return request;
}

/** Returns the written bytes. In Node they are a Buffer already, although the declared type does not say so. */
function finish(writer: Writer): Buffer {
  const bytes: Uint8Array = writer.finish();
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
}

function writeHeader(writer: Writer, [name, value]: Headers[number]): void {
  writer.uint32(headerValue.key).string(name).uint32(headerValue.rawValue).string(value);
}

/** Encodes the start of an answer that comes in pieces: `:status` and the headers. */
export function writeStart(status: number, headers: Headers): Buffer {
  const writer = new protobuf.BufferWriter();
  writer.uint32(processingResponse.streamedImmediateResponse).fork();
  writer.uint32(streamedImmediateResponse.headersResponse).fork();
  writer.uint32(httpHeaders.headers).fork();
  writer.uint32(headerMap.headers).fork();
  writeHeader(writer, [':status', String(status)]);
  writer.ldelim();
  for (const header of headers) {
    writer.uint32(headerMap.headers).fork();
    writeHeader(writer, header);
    writer.ldelim();
  }
  writer.ldelim().ldelim().ldelim();
  return finish(writer);
}

/** Encodes a piece of the answer's body. */
export function writeBody(text: string, endOfStream: boolean): Buffer {
  const writer = new protobuf.BufferWriter();
  writer.uint32(processingResponse.streamedImmediateResponse).fork();
  writer.uint32(streamedImmediateResponse.bodyResponse).fork();
  if (text !== '') writer.uint32(streamedBodyResponse.body).string(text);
  if (endOfStream) writer.uint32(streamedBodyResponse.endOfStream).bool(true);
  writer.ldelim().ldelim();
  return finish(writer);
}

/**
 * `ImmediateResponse.details` of a whole answer. Envoy's own replies have other details, and Envoy puts those into the
 * envelope.
 */
const ownDetails = 'weir';

/**
 * Encodes a whole answer in one message. An error without a body has no details: Envoy gives it the body that its own reply with this
 * status has.
 */
export function writeReply(status: number, headers: Headers, body: string): Buffer {
  const writer = new protobuf.BufferWriter();
  writer.uint32(processingResponse.immediateResponse).fork();
  writer.uint32(immediateResponse.status).fork().uint32(httpStatus.code).uint32(status).ldelim();
  writer.uint32(immediateResponse.headers).fork();
  for (const header of headers) {
    writer.uint32(headerMutation.setHeaders).fork();
    writer.uint32(headerValueOption.header).fork();
    writeHeader(writer, header);
    writer.ldelim();
    writer.uint32(headerValueOption.appendAction).uint32(overwriteIfExistsOrAdd).ldelim();
  }
  writer.ldelim();
  if (body !== '') writer.uint32(immediateResponse.body).string(body);
  if (body !== '' || status < 400) writer.uint32(immediateResponse.details).string(ownDetails);
  writer.ldelim();
  return finish(writer);
}
