import type { Clock } from '../core/clock.ts';
import { type Limits, type LimitsAsk, refusedBy, type AdmitResult } from '../core/limits.ts';
import { rateStatus } from '../core/token-bucket.ts';
import { createRateBuckets } from './rate-buckets.ts';
import { createTallies, type LocalSlot, type Tallies } from './tallies.ts';

export interface MemoryLimits extends Limits {
  readonly admit: (ask: LimitsAsk) => AdmitResult<LocalSlot>;
  /** Buckets that are not full, and may be a few more, for a gauge. */
  readonly buckets: () => number;
}

/** Limits of one process. Memory is bounded by the keys that are in use: what is idle is forgotten. */
export function createMemoryLimits(clock: Clock, tallies: Tallies = createTallies()): MemoryLimits {
  const buckets = createRateBuckets(clock);
  return {
    admit: (ask) => {
      const fullInMs = buckets.fullInMs(ask.keyId, ask);
      const { inFlight, reserved } = tallies.ofWorkspace(ask.workspaceId);
      const by = refusedBy(ask, { fullInMs, inFlight, reserved, keyReserved: tallies.ofKey(ask.keyId).reserved });
      if (by !== undefined) return { kind: 'refused', by, rate: rateStatus(fullInMs, ask) };
      const rate = rateStatus(buckets.take(ask.keyId, ask), ask);
      return { kind: 'admitted', rate, slot: tallies.open(ask) };
    },
    buckets: buckets.remembered,
  };
}
