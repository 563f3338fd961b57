import { networkOf } from '../core/address.ts';
import { putNewest } from '../core/put-newest.ts';

const windowMs = 10 * 60_000;
const tolerated = 30;
/** Most addresses in memory. One more address replaces the address with the oldest failure. */
const remembered = 10_000;

/** Counts failed sign-ins per address; a /64 of IPv6 is one address. Successful ones are not counted. */
export type FailedSignIns = ReturnType<typeof createFailedSignIns>;

export function createFailedSignIns(now: () => number) {
  const failures = new Map<string, { readonly since: number; readonly count: number }>();

  function current(name: string): { readonly since: number; readonly count: number } | undefined {
    const entry = failures.get(name);
    return entry !== undefined && now() - entry.since < windowMs ? entry : undefined;
  }

  return {
    /** Seconds until the address may fail again. Undefined: it may fail now. */
    blockedFor: (address: string): number | undefined => {
      const entry = current(networkOf(address));
      if (entry === undefined || entry.count < tolerated) return undefined;
      return Math.max(1, Math.ceil((entry.since + windowMs - now()) / 1000));
    },
    failed: (address: string): void => {
      const name = networkOf(address);
      const { since, count } = current(name) ?? { since: now(), count: 0 };
      putNewest(failures, remembered, [name, { since, count: count + 1 }]);
    },
  };
}
