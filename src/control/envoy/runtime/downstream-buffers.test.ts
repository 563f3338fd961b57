import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../core/exchange.ts';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import {
  applyObservation,
  createDownstreamBuffers,
  deliveryLimits,
  hasRoom,
  isWatched,
  openWindow,
  trickleOf,
  unconfirmed,
} from './downstream-buffers.ts';

describe('a delivery window', () => {
  it('has room until its limit is on the way, and is watched from the half on', () => {
    const window = openWindow();
    window.written = 500;
    expect([isWatched(window, 1_000), hasRoom(window, 1_000)]).toEqual([false, true]);
    window.written = 999;
    expect([isWatched(window, 1_000), hasRoom(window, 1_000)]).toEqual([true, true]);
    window.written = 1_000;
    expect([isWatched(window, 1_000), hasRoom(window, 1_000)]).toEqual([true, false]);
  });

  it('confirms with a clear observation only what was written before the sample before', () => {
    const window = openWindow();
    window.written = 600;
    applyObservation(window, 'clear', 0);
    expect(unconfirmed(window)).toBe(600);
    window.written = 900;
    applyObservation(window, 'clear', 0);
    expect(unconfirmed(window)).toBe(300);
    applyObservation(window, 'clear', 0);
    expect(unconfirmed(window)).toBe(0);
  });

  it('lets nothing through while the reader holds, however long', () => {
    const window = openWindow();
    window.written = 1_200;
    for (let sample = 0; sample < 100; sample += 1) applyObservation(window, 'held', 50);
    expect(hasRoom(window, 1_000)).toBe(false);
  });

  it('lets a trickle through when it cannot tell, never more than was written', () => {
    const window = openWindow();
    window.written = 1_000;
    applyObservation(window, 'unclear', 50);
    expect(unconfirmed(window)).toBe(950);
    for (let sample = 0; sample < 100; sample += 1) applyObservation(window, 'unclear', 50);
    expect(unconfirmed(window)).toBe(0);
  });

  it('does not take back what a trickle let through', () => {
    const window = openWindow();
    window.written = 100;
    applyObservation(window, 'unclear', 80);
    window.written = 1_000;
    window.marked = 50;
    applyObservation(window, 'clear', 0);
    expect(window.confirmed).toBe(80);
  });
});

const mebibyte = 1024 * 1024;
const pieceBytes = 16 * 1024;
const stopped = 100;

/** A service before an Envoy that holds bytes. `queued` answers for the kernel: the bytes that are held for a peer. */
function startBuffers({
  queued,
  totalBytes = deliveryLimits.totalBytes,
  gauge = 'http.edge.downstream_cx_tx_bytes_buffered',
}: {
  readonly queued: (peer: string) => number;
  readonly totalBytes?: number;
  readonly gauge?: string;
}) {
  const clock = createFakeClock();
  let looks = 0;
  const buffers = createDownstreamBuffers({
    clock,
    admin: { stats: () => Promise.resolve(new Map([[gauge, mebibyte]])) },
    tables: {
      look: () => {
        looks += 1;
        return Promise.resolve({ queueOf: queued });
      },
    },
    limits: { ...deliveryLimits, totalBytes },
  });
  return {
    clock,
    looks: () => looks,
    open: (peer: string, protocol = 'HTTP/1.1') => buffers.open(`${peer} ${protocol}`),
    /** Lets a time pass in which samples are taken. */
    pass: async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 10) {
        clock.advance(10);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** Writes until there is no more room, and returns how many bytes that were. */
function fill(delivery: Delivery): number {
  for (let bytes = pieceBytes; bytes < 100 * mebibyte; bytes += pieceBytes)
    if (!delivery.wrote(pieceBytes)) return bytes;
  throw new Error('there is always room');
}

const fillAll = (deliveries: readonly Delivery[]): number =>
  deliveries.reduce((sum, delivery) => sum + fill(delivery), 0);

/** Readers who take nothing, and one with the peer `reads` who takes everything. */
const allButOne = (peer: string): number => (peer === 'reads' ? 0 : 100_000);

const startStopped = ({ open }: ReturnType<typeof startBuffers>): readonly Delivery[] =>
  Array.from({ length: stopped }, (_, index) => open(`stopped-${index}`));

describe('many readers who stop', () => {
  it('have the stated total on its way together, and a small window each', async () => {
    const service = startBuffers({ queued: allButOne });
    const written = fillAll(startStopped(service));
    const bound = deliveryLimits.totalBytes + stopped * (deliveryLimits.smallWindowBytes + pieceBytes);
    expect(written).toBeGreaterThan(deliveryLimits.totalBytes);
    expect(written).toBeLessThan(bound);
    await service.pass(10_000);
    expect(service.looks()).toBeGreaterThan(5);
  });

  it('have a whole window each without a total (what the total prevents)', () => {
    const service = startBuffers({ queued: allButOne, totalBytes: Infinity });
    expect(fillAll(startStopped(service))).toBe(stopped * deliveryLimits.windowBytes);
  });

  it('do not stop a reader who takes what comes', async () => {
    const service = startBuffers({ queued: allButOne });
    fillAll(startStopped(service));
    const delivery = service.open('reads');
    let written = 0;
    let waits = false;
    for (let passed = 0; passed < 10_000; passed += 100) {
      if (!waits) {
        written += fill(delivery);
        waits = true;
        delivery.onRoom(() => (waits = false));
      }
      await service.pass(100);
    }
    // Many times what an engine writes.
    expect(written).toBeGreaterThan(5 * mebibyte);
  });

  it('do not count what a reader has taken', async () => {
    const service = startBuffers({ queued: allButOne });
    const delivery = service.open('reads');
    let written = 0;
    while (written < 2 * deliveryLimits.totalBytes) {
      written += fill(delivery);
      await service.pass(100);
    }
    expect(fill(service.open('another'))).toBe(deliveryLimits.windowBytes);
  });

  it('do not strand one who waits with a window that has become a small one', async () => {
    const service = startBuffers({ queued: allButOne });
    const delivery = service.open('reads');
    for (let bytes = 0; bytes < mebibyte / 2; bytes += pieceBytes) expect(delivery.wrote(pieceBytes)).toBe(true);
    fillAll(startStopped(service));
    let goesOn = false;
    delivery.onRoom(() => (goesOn = true));
    expect(goesOn).toBe(false);
    await service.pass(1_000);
    expect(goesOn).toBe(true);
  });

  it('give their room back when they leave', () => {
    const service = startBuffers({ queued: allButOne });
    const readers = startStopped(service);
    fillAll(readers);
    expect(fill(service.open('another'))).toBe(deliveryLimits.smallWindowBytes);
    for (const reader of readers) reader.release();
    expect(fill(service.open('one more'))).toBe(deliveryLimits.windowBytes);
  });

  it('are looked at in a tenth of the time at most', async () => {
    const service = startBuffers({
      queued: () => {
        service.clock.advance(1);
        return 100_000;
      },
    });
    fillAll(startStopped(service));
    await service.pass(50);
    expect(service.looks()).toBe(1);
    // The sample has held the event loop for 100 ms.
    await service.pass(890);
    expect(service.looks()).toBe(1);
    await service.pass(20);
    expect(service.looks()).toBe(2);
  });
});

describe('readers whose connection cannot be observed', () => {
  const kibibyte = 1024;
  it.each([
    { readers: 0, each: 256 * kibibyte },
    { readers: 64, each: 256 * kibibyte },
    { readers: 128, each: 128 * kibibyte },
    { readers: 512, each: 32 * kibibyte },
    { readers: 10_000, each: 32 * kibibyte },
  ])('get $each bytes a second each when they are $readers', ({ readers, each }) => {
    expect(trickleOf(readers, 1_000)).toBe(each);
    expect(trickleOf(readers, 50)).toBe(each / 20);
  });

  it('share a total rate, streams of HTTP/2 for example', async () => {
    const service = startBuffers({ queued: () => 0, gauge: 'http2.pending_send_bytes' });
    const readers = Array.from({ length: 400 }, (_, index) => service.open(`stopped-${index}`, 'HTTP/2'));
    let written = 0;
    const goOn = (delivery: Delivery): void => {
      written += fill(delivery);
      delivery.onRoom(() => goOn(delivery));
    };
    for (const delivery of readers) goOn(delivery);
    await service.pass(2_000);
    const before = written;
    await service.pass(10_000);
    const perSecond = (written - before) / 10;
    expect(perSecond).toBeGreaterThan(4 * mebibyte);
    // At 256 KiB for each it would be 100 MiB.
    expect(perSecond).toBeLessThan(24 * mebibyte);
  });
});
