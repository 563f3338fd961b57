import { type V1Lease, V1MicroTime } from '@kubernetes/client-node';
import type { Clock } from '../core/clock.ts';

/** Kubernetes' `MicroTime`, with the six decimals that the API server wants. */
export function microTime(at: number): V1MicroTime {
  return new V1MicroTime(at);
}

export function holderOf({ spec }: V1Lease): string {
  return spec?.holderIdentity ?? '';
}

/** For how long after a renewal the lease holds. */
export function durationMsOf({ spec }: V1Lease): number {
  return (spec?.leaseDurationSeconds ?? 0) * 1000;
}

export interface RenewalWatch {
  /** Milliseconds since the last renewal of the lease was seen here; 0 for a lease that was not seen before. */
  readonly silentMs: (lease: V1Lease) => number;
  /** Forgets all leases but these. */
  readonly retain: (names: ReadonlySet<string>) => void;
}

/**
 * Measures by this machine's own clock how long leases have not been renewed: the clocks of two machines need not agree.
 */
export function watchRenewals(clock: Pick<Clock, 'elapsed'>): RenewalWatch {
  const seen = new Map<string, { readonly renewal: string; readonly at: number }>();
  return {
    silentMs: (lease) => {
      const name = lease.metadata?.name ?? '';
      const renewal = `${holderOf(lease)} ${JSON.stringify(lease.spec?.renewTime)}`;
      const last = seen.get(name);
      if (last?.renewal === renewal) return clock.elapsed() - last.at;
      seen.set(name, { renewal, at: clock.elapsed() });
      return 0;
    },
    retain: (names) => {
      for (const name of seen.keys()) if (!names.has(name)) seen.delete(name);
    },
  };
}
