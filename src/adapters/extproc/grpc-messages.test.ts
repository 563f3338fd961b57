import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMessageReader } from './grpc-messages.ts';

function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function read(pieces: readonly Buffer[]): readonly string[] {
  const messages: string[] = [];
  const reader = createMessageReader((message) => messages.push(message.toString('hex')));
  for (const piece of pieces) reader.push(piece);
  return messages;
}

describe('gRPC messages', () => {
  it('come out as they went in, however their bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }),
        fc.array(fc.nat(60), { maxLength: 8 }),
        (messages, lengths) => {
          let rest = Buffer.concat(messages.map(framed));
          const pieces = lengths.map((length) => {
            const piece = rest.subarray(0, length);
            rest = rest.subarray(length);
            return piece;
          });
          expect(read([...pieces, rest])).toEqual(messages.map((message) => Buffer.from(message).toString('hex')));
        },
      ),
    );
  });

  it('of 4 MiB in small pieces are put together once, not with each piece', () => {
    const message = framed(Buffer.alloc(4 * 1024 * 1024));
    const pieces = Array.from({ length: 4096 }, (_, at) => message.subarray(at * 1025, (at + 1) * 1025));
    const concat = vi.spyOn(Buffer, 'concat');
    onTestFinished(() => concat.mockRestore());
    expect(read(pieces)).toHaveLength(1);
    const copied = concat.mock.results.map(({ value }) => (Buffer.isBuffer(value) ? value.length : 0));
    expect(copied.length).toBeGreaterThan(0);
    expect(copied.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(2 * message.length);
  });

  it('that are compressed, or over 4 MiB, are refused', () => {
    expect(() => read([Buffer.from([1, 0, 0, 0, 0])])).toThrow('compressed');
    expect(() => read([Buffer.from([0, 0, 0x40, 0, 1])])).toThrow('over the limit');
  });
});
