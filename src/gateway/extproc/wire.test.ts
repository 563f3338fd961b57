import { fileURLToPath } from 'node:url';
import { type MessageTypeDefinition, loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Headers } from '../../core/headers.ts';
import { readProcessingRequest, writeBody, writeReply, writeStart } from './wire.ts';

const protoFile = fileURLToPath(new URL('../../../protos/ext_proc.proto', import.meta.url));
const loaded = loadSync(protoFile, { keepCase: true, oneofs: true });
const { Process } = loaded['envoy.service.ext_proc.v3.ExternalProcessor'] as unknown as {
  Process: {
    requestType: MessageTypeDefinition<object, object>;
    requestSerialize: (message: object) => Buffer;
    responseDeserialize: (bytes: Buffer) => unknown;
  };
};
const encode = Process.requestSerialize;
const decode = (bytes: Buffer): unknown => plain(Process.responseDeserialize(bytes));

/** Bytes as base64: comparing them number by number takes seconds. */
function plain(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

// Protobuf by hand, for messages that the generic codec would not write.
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
const bytesField = (field: number, content: Uint8Array): number[] => [
  ...varint(field * 8 + 2),
  ...varint(content.length),
  ...content,
];
const numberField = (field: number, value: number): number[] => [...varint(field * 8), ...varint(value)];
const message = (...fields: readonly number[][]): Buffer => Buffer.from(fields.flat());
const headerMap = (...entries: readonly Buffer[]): Buffer => message(...entries.map((entry) => bytesField(1, entry)));
const header = (key: string, value: string): Buffer =>
  message(bytesField(1, Buffer.from(key)), bytesField(3, Buffer.from(value, 'latin1')));

/** Text of any characters at all. The generator of fast-check for it takes a second to set up. */
const textOf = (maxLength: number) =>
  fc
    .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength })
    .map((codes) => String.fromCodePoint(...codes).toWellFormed());

const headerName = fc.stringMatching(/^[:a-z][a-z0-9-]{0,30}$/);
const headerBytes = fc.uint8Array({ maxLength: 300 });
/** A field with a number that no message of ours uses, of every wire type there is. */
const unknownField = fc.oneof(
  fc
    .tuple(fc.integer({ min: 100, max: 5000 }), fc.uint8Array({ maxLength: 200 }))
    .map(([n, bytes]) => bytesField(n, bytes)),
  fc
    .tuple(fc.integer({ min: 100, max: 5000 }), fc.nat(Number.MAX_SAFE_INTEGER))
    .map(([n, value]) => numberField(n, value)),
  fc.integer({ min: 100, max: 5000 }).map((n) => [...varint(n * 8 + 1), 1, 2, 3, 4, 5, 6, 7, 8]),
  fc.integer({ min: 100, max: 5000 }).map((n) => [...varint(n * 8 + 5), 1, 2, 3, 4]),
);

describe('reading what Envoy sends', () => {
  it('reads headers as the generic codec writes them, the first of a name', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(headerName, headerBytes)), fc.boolean(), (entries, endOfStream) => {
        const headers = entries.map(([key, raw]) => ({ key, raw_value: Buffer.from(raw) }));
        const read = readProcessingRequest(
          encode({ request_headers: { headers: { headers }, end_of_stream: endOfStream } }),
        );
        const expected = new Map(
          [...entries].reverse().map(([key, raw]) => [key, Buffer.from(raw).toString('latin1')]),
        );
        expect(read).toEqual({ kind: 'headers', headers: expected, endOfStream });
      }),
    );
  });

  it('reads the text value of a header that has no bytes', () => {
    const headers = [{ key: ':path', value: '/v1/models' }];
    expect(readProcessingRequest(encode({ request_headers: { headers: { headers } } }))).toEqual({
      kind: 'headers',
      headers: new Map([[':path', '/v1/models']]),
      endOfStream: false,
    });
  });

  it('reads a piece of the body as the generic codec writes it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70_000 }), fc.boolean(), (body, endOfStream) => {
        const read = readProcessingRequest(
          encode({ request_body: { body: Buffer.from(body), end_of_stream: endOfStream } }),
        );
        expect(plain(read)).toEqual({ kind: 'body', body: Buffer.from(body).toString('base64'), endOfStream });
      }),
      { numRuns: 50 },
    );
  });

  it('reads trailers, and a message of another kind as other', () => {
    expect(
      readProcessingRequest(encode({ request_trailers: { trailers: { headers: [{ key: 'a', value: 'b' }] } } })),
    ).toEqual({
      kind: 'trailers',
    });
    expect(readProcessingRequest(encode({}))).toEqual({ kind: 'other' });
    expect(readProcessingRequest(Buffer.alloc(0))).toEqual({ kind: 'other' });
  });

  it('skips attributes and every other field that it does not know, at every depth', () => {
    fc.assert(
      fc.property(fc.array(unknownField, { minLength: 6, maxLength: 6 }), headerName, (unknown, name) => {
        const [a = [], b = [], c = [], d = [], e = [], f = []] = unknown;
        const entry = message(c, bytesField(1, Buffer.from(name)), d, bytesField(3, Buffer.from('v')), c);
        const map = message(e, bytesField(1, entry), e);
        const inner = message(b, bytesField(1, map), f, numberField(3, 1), b);
        const whole = message(a, bytesField(9, Buffer.from('attributes')), bytesField(2, inner), a);
        expect(readProcessingRequest(whole)).toEqual({
          kind: 'headers',
          headers: new Map([[name, 'v']]),
          endOfStream: true,
        });
        const body = message(a, bytesField(4, message(b, bytesField(1, Buffer.from('x')), c, numberField(2, 1), d)), e);
        expect(readProcessingRequest(body)).toEqual({ kind: 'body', body: Buffer.from('x'), endOfStream: true });
      }),
    );
  });

  it('throws on every message that ends inside a field', () => {
    const headers = encode({
      request_headers: { headers: { headers: [{ key: 'a', raw_value: Buffer.from('b') }] }, end_of_stream: true },
    });
    const body = encode({ request_body: { body: Buffer.from('content'), end_of_stream: true } });
    for (const whole of [headers, body]) {
      for (let length = 1; length < whole.length; length += 1) {
        expect(() => readProcessingRequest(whole.subarray(0, length)), `${length} bytes`).toThrow('ext_proc');
      }
    }
  });

  it.each([
    ['a number at the end of the message', message([9 * 8])],
    ['a number in the middle', message([9 * 8, 0x80])],
    ['a fixed 64-bit field', message([9 * 8 + 1, 1, 2, 3])],
    ['a fixed 32-bit field', message([9 * 8 + 5, 1])],
    [
      'a fixed field that leaves its message but not the buffer',
      message(
        bytesField(4, Buffer.from([9 * 8 + 1, 1])),
        numberField(99, 300),
        numberField(99, 300),
        numberField(99, 300),
      ),
    ],
    [
      'a length beyond its message but not the buffer',
      message(bytesField(4, Buffer.from([0x0a, 4, 1])), numberField(99, 300)),
    ],
    ['a wire type that does not exist', message([9 * 8 + 7, 1])],
  ])('throws on %s', (_, bytes) => {
    expect(() => readProcessingRequest(bytes)).toThrow('ext_proc');
  });

  it('either reads or throws on any bytes, and ends', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          expect(['headers', 'body', 'trailers', 'other']).toContain(readProcessingRequest(Buffer.from(bytes)).kind);
        } catch (error) {
          expect(error).toHaveProperty('message', expect.stringMatching(/^ext_proc message/));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps the first value of a repeated header, so that a caller cannot override what stands before', () => {
    const map = headerMap(header('x-request-id', 'first'), header('x-request-id', 'second'));
    const read = readProcessingRequest(message(bytesField(2, message(bytesField(1, map)))));
    expect(read).toMatchObject({ headers: new Map([['x-request-id', 'first']]) });
  });

  it('joins the lines of content-encoding, so that no encoding is overlooked', () => {
    const map = headerMap(header('content-encoding', 'gzip'), header('content-encoding', 'br'));
    const read = readProcessingRequest(message(bytesField(2, message(bytesField(1, map)))));
    expect(read).toMatchObject({ headers: new Map([['content-encoding', 'gzip,br']]) });
  });

  it('joins the lines of the header x-weir-tags with commas', () => {
    const map = headerMap(header('x-weir-tags', 'team=search'), header('x-weir-tags', 'app=crawler,job=nightly'));
    const read = readProcessingRequest(message(bytesField(2, message(bytesField(1, map)))));
    expect(read).toMatchObject({ headers: new Map([['x-weir-tags', 'team=search,app=crawler,job=nightly']]) });
  });
});

describe('writing what Envoy reads', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  const expectedHeaders = (entries: Headers): object =>
    entries.length === 0
      ? {}
      : {
          set_headers: entries.map(([key, value]) => ({ header: { key, raw_value: base64(value) }, append_action: 2 })),
        };

  it('starts an answer that the generic codec reads the same', () => {
    const headers = fc.array(fc.tuple(headerName, textOf(150)), { maxLength: 5 });
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), headers, (status, entries: Headers) => {
        const all: Headers = [[':status', String(status)], ...entries];
        expect(decode(writeStart(status, entries))).toEqual({
          response: 'streamed_immediate_response',
          streamed_immediate_response: {
            response: 'headers_response',
            headers_response: {
              headers: { headers: all.map(([key, value]) => ({ key, raw_value: base64(value) })) },
            },
          },
        });
      }),
      { numRuns: 50 },
    );
  });

  it('writes a whole answer that the generic codec reads the same', () => {
    const headers = fc.array(fc.tuple(headerName, textOf(150)), { maxLength: 5 });
    const body = textOf(400);
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), headers, body, (status, entries: Headers, text) => {
        expect(decode(writeReply(status, entries, text))).toEqual({
          response: 'immediate_response',
          immediate_response: {
            status: { code: status },
            headers: expectedHeaders(entries),
            ...(text === '' ? {} : { body: base64(text) }),
            // Envoy writes the body of an error without one.
            ...(text === '' && status >= 400 ? {} : { details: 'weir' }),
          },
        });
      }),
      { numRuns: 50 },
    );
  });

  it('writes a piece of the body that the generic codec reads the same', () => {
    fc.assert(
      fc.property(textOf(400), fc.boolean(), (text, endOfStream) => {
        expect(decode(writeBody(text, endOfStream))).toEqual({
          response: 'streamed_immediate_response',
          streamed_immediate_response: {
            response: 'body_response',
            body_response: {
              ...(text === '' ? {} : { body: base64(text) }),
              ...(endOfStream ? { end_of_stream: true } : {}),
            },
          },
        });
      }),
    );
  });

  it.each([126, 127, 128, 129, 16_381, 16_382, 16_383, 16_384, 16_385, 2_097_150, 2_097_153])(
    'writes a body of %i bytes, around where a length takes one more byte',
    (length) => {
      const text = 'x'.repeat(length);
      const read = Process.responseDeserialize(writeBody(text, true)) as {
        streamed_immediate_response: { body_response: { body: Buffer; end_of_stream: boolean } };
      };
      const { body, end_of_stream: endOfStream } = read.streamed_immediate_response.body_response;
      expect({ text: body.toString(), endOfStream }).toEqual({ text, endOfStream: true });
    },
  );
});
