import { describe, expect, it } from 'vitest';
import { createCallerEvidence } from './caller-evidence.ts';

const minute = 60_000;

describe('failures that may be the request’s own fault', () => {
  it('do not count while one caller alone has them, however many', () => {
    const evidence = createCallerEvidence();
    evidence.served(0, 'other');
    for (let request = 0; request < 1000; request += 1) expect(evidence.failed(request, 'one')).toBe(false);
  });

  it('count once another caller’s requests mostly fail, too', () => {
    const evidence = createCallerEvidence();
    expect([evidence.failed(0, 'one'), evidence.failed(0, 'one')]).toEqual([false, false]);
    expect([evidence.failed(0, 'two'), evidence.failed(0, 'one'), evidence.failed(0, 'two')]).toEqual([
      true,
      false,
      true,
    ]);
    expect(evidence.failed(0, 'one')).toBe(true);
  });

  it('do not count for a single failure of another caller, nor for a few among many that are served', () => {
    const evidence = createCallerEvidence();
    evidence.failed(0, 'other');
    expect(evidence.failed(0, 'one')).toBe(false);
    for (let round = 0; round < 20; round += 1) {
      for (let served = 0; served < 4; served += 1) evidence.served(round, 'other');
      evidence.failed(round, 'other');
      expect(evidence.failed(round, 'one')).toBe(false);
    }
  });

  it('count soon after a caller who was served a thousand times is served no more', () => {
    const evidence = createCallerEvidence();
    for (let served = 0; served < 1000; served += 1) evidence.served(served, 'other');
    let failures = 0;
    while (!evidence.failed(2000, 'one')) {
      evidence.failed(2000, 'other');
      failures += 1;
    }
    expect(failures).toBeGreaterThan(4);
    expect(failures).toBeLessThan(12);
  });

  it('are forgotten after some minutes', () => {
    const evidence = createCallerEvidence();
    for (let failure = 0; failure < 3; failure += 1) evidence.failed(0, 'other');
    expect(evidence.failed(minute, 'one')).toBe(true);
    expect(evidence.failed(10 * minute, 'one')).toBe(false);
  });

  it('are remembered of the callers that were seen last', () => {
    const evidence = createCallerEvidence();
    for (let failure = 0; failure < 3; failure += 1) evidence.failed(0, 'other');
    for (let caller = 0; caller < 64; caller += 1) evidence.served(0, `caller ${caller}`);
    expect(evidence.failed(0, 'one')).toBe(false);
  });
});
