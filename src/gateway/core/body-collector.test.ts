// @suite apart
import { describe, expect, it } from 'vitest';
import { keptHeap } from '../../../test/support/kept-heap.ts';
import { createBodyCollector } from './body-collector.ts';

const MiB = 1024 * 1024;
// oxlint-disable-next-line eslint/no-restricted-globals -- it measures its process
const external = (): number => process.memoryUsage().external;

/** The same without garbage. What is left of that is freed in another thread, and counted out with the next collection. */
function settled(): number {
  for (let round = 0; round < 3; round += 1) keptHeap();
  return external();
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe('a body that is collected', () => {
  it('is what came, however it was cut, and whatever its size', () => {
    const body = Buffer.from(Array.from({ length: 5_000_000 }, (_, at) => at % 251));
    for (const [size, total] of [
      [1, 5_000],
      [4_096, 4_096],
      [4_097, 8_194],
      [48 * 1024, 128 * 1024],
      [48 * 1024, 128 * 1024 + 1],
      [49_999, 400_000],
      [400_000, 400_000],
      [500_000, 2 * MiB],
      [500_000, 2 * MiB + 1],
      [48 * 1024, 5_000_000],
    ] as const) {
      for (const declared of [undefined, total, 10, 1e15]) {
        const collector = createBodyCollector(declared);
        for (let at = 0; at < total; at += size) {
          collector.add(body.subarray(at, Math.min(at + size, total)), at + size >= total);
        }
        expect(collector.bytes()).toBe(total);
        expect(Buffer.compare(collector.take(), body.subarray(0, total))).toBe(0);
      }
    }
  });

  it('may be nothing, or end with nothing', () => {
    expect(createBodyCollector().take()).toHaveLength(0);
    const collector = createBodyCollector();
    collector.add(Buffer.from('a'), false);
    collector.add(Buffer.alloc(0), true);
    expect(text(collector.take())).toBe('a');
  });

  it('that comes in one piece is that piece, without a copy', () => {
    const piece = Buffer.from('whole');
    const collector = createBodyCollector();
    collector.add(piece, true);
    expect(collector.take()).toBe(piece);
  });

  it.each([33_333, 333_333])(
    'in pieces of %d bytes owns all of its memory, which another thread can be given',
    (size) => {
      const collector = createBodyCollector();
      for (let count = 0; count < 10; count += 1) collector.add(Buffer.alloc(size, 'x'), count === 9);
      const body = collector.take();
      expect([body.byteOffset, body.buffer.byteLength]).toEqual([0, 10 * size]);
      const moved = structuredClone(body, { transfer: [body.buffer as ArrayBuffer] });
      expect(text(moved)).toBe('x'.repeat(10 * size));
      expect(body).toHaveLength(0);
    },
  );
});

describe('the memory of a body', () => {
  it('follows what has arrived: 130 with a byte each take less than one MiB, declared as they may be', () => {
    const before = settled();
    const collectors = Array.from({ length: 130 }, () => createBodyCollector(33_000_000));
    for (const collector of collectors) collector.add(Buffer.from('{'), false);
    expect(external() - before).toBeLessThan(MiB);
    // The declared length was allocated at once before.
    const declared = Array.from({ length: 4 }, () => Buffer.allocUnsafeSlow(33_000_000));
    expect(external() - before).toBeGreaterThan(declared.length * 31 * MiB);
  });

  it('is at most double what has arrived, never more than declared, and what it said it would be', () => {
    const piece = Buffer.alloc(48 * 1024);
    for (const declared of [undefined, 100_000, 1_500_000, 33_000_000]) {
      const collector = createBodyCollector(declared);
      const start = settled();
      for (let bytes = piece.length; bytes <= (declared ?? 10 * MiB); bytes += piece.length) {
        const memory = collector.memoryFor(bytes);
        collector.add(piece, false);
        expect(Math.abs(external() - start - memory)).toBeLessThan(16 * 1024);
        expect(memory).toBeLessThanOrEqual(Math.max(2 * bytes, bytes + 64 * 1024));
        if (bytes < 2 * MiB) expect(memory).toBeLessThanOrEqual(declared ?? Infinity);
      }
      collector.discard();
    }
  });

  it('is free at once when the body is discarded, without a collection of garbage', () => {
    const piece = Buffer.alloc(64 * 1024);
    const collector = createBodyCollector();
    for (let count = 0; count < 512; count += 1) collector.add(piece, false);
    const all = external();
    collector.discard();
    expect(all - external()).toBeGreaterThanOrEqual(32 * MiB);
    collector.discard();
  });

  it('does not keep what the socket read with a piece', () => {
    const before = settled();
    const collectors = Array.from({ length: 50 }, () => {
      const collector = createBodyCollector();
      collector.add(Buffer.alloc(MiB).subarray(0, 1), false);
      return collector;
    });
    expect(settled() - before).toBeLessThan(2 * MiB);
    expect(collectors.map(({ bytes }) => bytes())).toEqual(collectors.map(() => 1));
  });
});
