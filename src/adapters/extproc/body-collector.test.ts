import { describe, expect, it } from 'vitest';
import { keptHeap } from '../../../test/support/kept-heap.ts';
import { createBodyCollector } from './body-collector.ts';

const MiB = 1024 * 1024;
const external = (): number => process.memoryUsage().external;
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe('a body that is collected', () => {
  it('is what came, however it was cut, and whatever its size', () => {
    const body = Buffer.from(Array.from({ length: 400_000 }, (_, at) => at % 251));
    for (const [size, total] of [
      [1, 5_000],
      [4_096, 4_096],
      [4_097, 8_194],
      [48 * 1024, 128 * 1024],
      [48 * 1024, 128 * 1024 + 1],
      [49_999, 400_000],
      [400_000, 400_000],
    ] as const) {
      const collector = createBodyCollector();
      for (let at = 0; at < total; at += size) {
        collector.add(body.subarray(at, Math.min(at + size, total)), at + size >= total);
      }
      expect(collector.bytes()).toBe(total);
      expect(Buffer.compare(collector.take(), body.subarray(0, total))).toBe(0);
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

  it('that is large owns all of its memory, which another thread can be given', () => {
    const collector = createBodyCollector();
    for (let count = 0; count < 10; count += 1) collector.add(Buffer.alloc(33_333, 'x'), count === 9);
    const body = collector.take();
    expect([body.byteOffset, body.buffer.byteLength]).toEqual([0, 333_330]);
    const moved = structuredClone(body, { transfer: [body.buffer as ArrayBuffer] });
    expect(text(moved)).toBe('x'.repeat(333_330));
    expect(body).toHaveLength(0);
  });
});

describe('the memory of a body', () => {
  it('follows what has arrived: 130 with a byte each take less than one MiB, declared as they may be', () => {
    const before = external();
    const collectors = Array.from({ length: 130 }, () => createBodyCollector());
    for (const collector of collectors) collector.add(Buffer.from('{'), false);
    expect(external() - before).toBeLessThan(MiB);
    // What was done with the declared length before.
    const declared = Array.from({ length: 4 }, () => Buffer.allocUnsafeSlow(33_000_000));
    expect(external() - before).toBeGreaterThan(declared.length * 31 * MiB);
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
    keptHeap();
    const before = external();
    const collectors = Array.from({ length: 50 }, () => {
      const collector = createBodyCollector();
      collector.add(Buffer.alloc(MiB).subarray(0, 1), false);
      return collector;
    });
    keptHeap();
    expect(external() - before).toBeLessThan(25 * MiB);
    expect(collectors.map(({ bytes }) => bytes())).toEqual(collectors.map(() => 1));
  });
});
