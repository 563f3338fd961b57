import { describe, expect, it } from 'vitest';
import { costs, type ExpectedLoad, sizeFor } from './size.ts';

const load: ExpectedLoad = { rps: 100, streams: 1_000, chunksPerSecond: 30, retentionDays: 30, meanShare: 0.3 };

describe('the size of a gateway', () => {
  it('has a spare pod for the smallest load', () => {
    const size = sizeFor({ ...load, rps: 1, streams: 0 });
    expect(size).toMatchObject({ pods: 2, limitedBy: 'one spare pod', postgres: { connections: 6 } });
    expect(size.service.memoryMib).toBe(costs.idle.serviceMib);
  });

  it('keeps the event loop of each pod below its share when one pod is gone', () => {
    for (const rps of [10, 500, 2_000, 20_000]) {
      const { pods } = sizeFor({ ...load, rps });
      const loop = (rps * costs.answer.eventLoopMs + 30_000 * costs.chunk.eventLoopMs) / 1000;
      expect(loop / (pods - 1)).toBeLessThanOrEqual(0.6);
      expect(pods === 2 || loop / (pods - 2) > 0.6).toBe(true);
    }
  });

  it('has no pod with more open streams than a service accepts', () => {
    const size = sizeFor({ ...load, rps: 1, streams: 100_000, chunksPerSecond: 0.001 });
    expect(size).toMatchObject({ pods: 6, limitedBy: 'open streams' });
    // 20,000 streams of 100 KiB.
    expect(size.service.memoryMib).toBeCloseTo(costs.idle.serviceMib + 1_953, 0);
  });

  it('computes the disk of the ledger from the mean rate', () => {
    // 30 requests a second for 30 days, of 150 bytes.
    expect(sizeFor(load).postgres.diskGb).toBeCloseTo(11.7, 1);
    expect(sizeFor({ ...load, retentionDays: 0 }).postgres.diskGb).toBe(0);
  });
});
