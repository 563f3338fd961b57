import { createDecayedMean, type DecayedMean } from './decayed-mean.ts';
import { putNewest } from '../../core/put-newest.ts';

/**
 * Distinguishes failures caused by one caller's requests from failures of the route or model that serves them. A failure that may be
 * the request's own fault counts only while another caller's requests mostly fail, too. Callers are ids of API keys.
 */
export type CallerEvidence = ReturnType<typeof createCallerEvidence>;

/** Most callers that are remembered. The caller that has sent no request for the longest time is forgotten first. */
const maxCallers = 64;
/** At most a dozen requests of a caller count, however many it sends. */
const remembered = { halfLifeMs: 120_000, maxWeight: 12 };
/** One failure may be chance; two recent failures are a sign. */
const minFailed = 1.5;

export function createCallerEvidence() {
  /** The share of each caller's requests that failed. The caller that was seen last is at the end. */
  const shares = new Map<string, DecayedMean>();

  function add(now: number, caller: string, failed: 0 | 1): void {
    const share = shares.get(caller) ?? createDecayedMean(remembered);
    share.add(now, failed);
    putNewest(shares, maxCallers, [caller, share]);
  }

  function mostlyFails(share: DecayedMean, now: number): boolean {
    const failed = share.mean(now);
    return failed > 0.5 && failed * share.weight(now) >= minFailed;
  }

  return {
    served: (now: number, caller: string): void => add(now, caller, 0),
    /** Records a failure that may be the request's own fault. Returns whether it counts. */
    failed: (now: number, caller: string): boolean => {
      add(now, caller, 1);
      for (const [other, share] of shares) if (other !== caller && mostlyFails(share, now)) return true;
      return false;
    },
  };
}
