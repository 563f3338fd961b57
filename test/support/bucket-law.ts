import fc from 'fast-check';
import { expect } from 'vitest';
import type { Limits, LimitsAsk } from '../../src/core/limits.ts';

/** An ask of a key that nothing but its rate holds back. */
export function rateAsk(fields: Partial<LimitsAsk> = {}): LimitsAsk {
  return {
    ...{ keyId: 'key-1', workspaceId: 'ws-1', rate: 100, burst: 200, maxInFlight: 1_000_000 },
    funds: { balance: 1_000_000n },
    ...fields,
  };
}

/** The bucket as its definition says, in thousandths of a token: whole numbers, so that nothing is rounded. */
function createModel(rate: number, burst: number) {
  const full = burst * 1000;
  let level = full;
  return {
    pass: (ms: number): void => {
      level = Math.min(full, level + rate * ms);
    },
    take: (): boolean => {
      if (level < 1000) return false;
      level -= 1000;
      return true;
    },
    status: () => ({
      limit: rate,
      remaining: Math.floor(level / 1000),
      resetSeconds: Math.ceil((full - level) / rate / 1000),
      nextSeconds: Math.max(1, Math.ceil((1000 - level) / rate / 1000)),
    }),
  };
}

/**
 * Holds limits against the definition of a token bucket: whatever the requests and the pauses between them, the same are
 * admitted, and every answer has the same remainder and the same times.
 */
export async function expectTokenBucket(options: {
  /** Limits of a world of their own. */
  readonly limits: () => Limits;
  readonly advance: (ms: number) => void;
  readonly runs: number;
}): Promise<void> {
  const steps = fc.array(fc.record({ pauseMs: fc.nat(400), requests: fc.nat(12) }), { maxLength: 40 });
  const size = fc.record({ rate: fc.integer({ min: 1, max: 300 }), burst: fc.integer({ min: 1, max: 40 }) });
  let world = 0;
  await fc.assert(
    fc.asyncProperty(size, steps, async ({ rate, burst }, script) => {
      const limits = options.limits();
      const model = createModel(rate, burst);
      const keyId = `key-${(world += 1)}`;
      for (const { pauseMs, requests } of script) {
        options.advance(pauseMs);
        model.pass(pauseMs);
        for (let request = 0; request < requests; request += 1) {
          const result = await limits.admit(rateAsk({ keyId, rate, burst }));
          const isAdmitted = model.take();
          expect({ kind: result.kind, rate: result.rate }).toEqual({
            kind: isAdmitted ? 'admitted' : 'refused',
            rate: model.status(),
          });
          if (result.kind === 'admitted') await result.slot.release();
        }
      }
    }),
    { numRuns: options.runs },
  );
}
