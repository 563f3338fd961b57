import type { Clock } from '../core/clock.ts';
import type { Lease } from './leases.ts';

/**
 * Judges whether the holders of leases live, by when each renewal was seen here: the clocks of two machines need not
 * agree. One that has not been seen before has just been seen.
 */
export function createSeenAlive(clock: Pick<Clock, 'elapsed'>): {
  /** Milliseconds since its last renewal was seen. */
  readonly silentMs: (lease: Lease) => number;
  /** Forgets all but these. */
  readonly retain: (names: ReadonlySet<string>) => void;
} {
  const seen = new Map<string, { readonly renewal: string; readonly at: number }>();
  return {
    silentMs: ({ name, holder, renewTime }) => {
      const renewal = `${holder} ${renewTime}`;
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
