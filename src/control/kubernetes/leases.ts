import { type V1Lease, V1MicroTime } from '@kubernetes/client-node';
import type { Clock } from '../../core/clock.ts';

/** Kubernetes' `MicroTime`, with the six decimals that the API server requires. */
export function microTime(at: number): V1MicroTime {
  return new V1MicroTime(at);
}

export function holderOf({ spec }: V1Lease): string {
  return spec?.holderIdentity ?? '';
}

/** How long the lease is valid after a renewal. */
export function durationMsOf({ spec }: V1Lease): number {
  return (spec?.leaseDurationSeconds ?? 0) * 1000;
}

/**
 * Measures with this machine's own clock how long leases have not been renewed. The clocks of two machines may differ.
 */
export function watchRenewals(clock: Pick<Clock, 'elapsed'>) {
  const seen = new Map<string, { readonly renewal: string; readonly at: number }>();
  return {
    /**
     * Milliseconds for which the lease was certainly not renewed: from the moment when this process saw the last renewal
     * until its question to the API server (`askedAt`, monotonic). 0 for a new lease. The time of the answer does not
     * count: this process may have been held up, and the lease may have been renewed since.
     */
    silentMs: (lease: V1Lease, askedAt: number): number => {
      const name = lease.metadata?.name ?? '';
      const renewal = `${holderOf(lease)} ${JSON.stringify(lease.spec?.renewTime)}`;
      const last = seen.get(name);
      if (last?.renewal === renewal) return Math.max(0, askedAt - last.at);
      seen.set(name, { renewal, at: clock.elapsed() });
      return 0;
    },
    /** Forgets all leases but these. */
    retain: (names: ReadonlySet<string>): void => {
      for (const name of seen.keys()) if (!names.has(name)) seen.delete(name);
    },
  };
}
