import { describe, expect, it } from 'vitest';
import { errorCode, flag, frame, frameType } from './frame.ts';
import { createFrameReader, withoutPadding } from './frame-reader.ts';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const input = Buffer.concat([
  preface,
  frame(frameType.settings, 0, 0, Buffer.alloc(0)),
  frame(frameType.data, flag.endStream, 0x7fffffff, Buffer.from('abc')),
  frame(frameType.data, 0, 1, Buffer.alloc(16_384, 'x')),
]);

function read(pieces: readonly Buffer[]): readonly string[] {
  const log: string[] = [];
  const reader = createFrameReader(({ type, flags, stream, payload }) => {
    log.push(`${type} ${flags} ${stream} ${payload.length} ${payload.toString().slice(0, 3)}`);
  });
  for (const piece of pieces) reader.push(piece);
  return log;
}

describe('frames', () => {
  const expected = ['4 0 0 0 ', '0 1 2147483647 3 abc', '0 0 1 16384 xxx'];

  it('are read one after the other', () => {
    expect(read([input])).toEqual(expected);
  });

  it('are read the same wherever their bytes are cut', () => {
    const heads = [...Array(preface.length + 40).keys()];
    for (const at of [...heads, input.length - 1]) {
      expect(read([input.subarray(0, at), input.subarray(at)])).toEqual(expected);
    }
    expect(read([...input].map((byte) => Buffer.of(byte)))).toEqual(expected);
  });

  it('of another protocol are refused at the first byte that tells', () => {
    expect(() => read([Buffer.from('GET')])).toThrow('not HTTP/2');
    expect(() => read([Buffer.from('PRI * HTTP/1')])).toThrow('not HTTP/2');
  });

  it('over the size we allow are refused before they are held', () => {
    const long = Buffer.from([0, 0x40, 1, 0, 0, 0, 0, 0, 1]);
    expect(() => read([preface, long])).toThrow(expect.objectContaining({ code: errorCode.frameSizeError }));
  });
});

describe('padding', () => {
  const padded = (payload: readonly number[]) =>
    withoutPadding({ type: frameType.data, flags: flag.padded, stream: 1, payload: Buffer.from(payload) });

  it('is taken off', () => {
    expect([...padded([2, 7, 8, 0, 0])]).toEqual([7, 8]);
    expect([...padded([1, 0])]).toEqual([]);
    expect([...withoutPadding({ type: 0, flags: 0, stream: 1, payload: Buffer.from([2, 7]) })]).toEqual([2, 7]);
  });

  it.each([[[]], [[1]], [[5, 1, 2]]])('of %j is more than its frame', (payload) => {
    expect(() => padded(payload)).toThrow('padding');
  });
});
