/**
 * Distinguishes failures caused by one caller's requests from failures of the route or model that serves them. A failure that may be
 * the request's own fault counts only while another caller's requests mostly fail, too. Callers are ids of API keys.
 */
export interface CallerEvidence {
  readonly served: (now: number, caller: string) => void;
  /** Records a failure that may be the request's own fault. Returns whether it counts. */
  readonly failed: (now: number, caller: string) => boolean;
}

/** One caller's counts, which halve with time. */
interface Counts {
  failed: number;
  served: number;
  at: number;
}

/** Most callers that are remembered. The caller that has sent no request for the longest time is forgotten first. */
const maxCallers = 64;
const halfLifeMs = 120_000;
/** At most a dozen requests of a caller count, however many it sends. */
const maxWeight = 12;
/** One failure may be chance; two recent failures are a sign. */
const minFailed = 1.5;

export function createCallerEvidence(): CallerEvidence {
  const records = new Map<string, Counts>();

  /** Returns a caller's record as of now, and marks the caller as the one seen last. */
  function refresh(now: number, caller: string): Counts {
    const record = records.get(caller) ?? { failed: 0, served: 0, at: now };
    fade(record, now);
    const weight = record.failed + record.served;
    const scale = weight > maxWeight - 1 ? (maxWeight - 1) / weight : 1;
    record.failed *= scale;
    record.served *= scale;
    records.delete(caller);
    records.set(caller, record);
    const [oldest] = records.keys();
    if (records.size > maxCallers && oldest !== undefined) records.delete(oldest);
    return record;
  }

  return {
    served: (now, caller) => {
      refresh(now, caller).served += 1;
    },
    failed: (now, caller) => {
      refresh(now, caller).failed += 1;
      for (const [other, record] of records) {
        if (other === caller) continue;
        fade(record, now);
        if (record.failed >= minFailed && record.failed > record.served) return true;
      }
      return false;
    },
  };
}

function fade(record: Counts, now: number): void {
  const share = 2 ** ((record.at - now) / halfLifeMs);
  record.failed *= share;
  record.served *= share;
  record.at = now;
}
