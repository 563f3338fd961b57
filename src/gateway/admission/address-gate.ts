import { networkOf } from '../../core/address.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/failure.ts';

/** Blocks an address for a while if authentication has failed too often from it (docs/reference/api.md §5, rule 5). */
export interface AddressGate {
  /** Milliseconds for which the address is still blocked; 0 when it is not. */
  readonly blockedMs: (address: string) => number;
  /** Records that a request from this address had no valid key. */
  readonly failed: (address: string) => void;
}

/**
 * Runs the authentication of a request. Throws `rate_limited` while its origin (an address, or a session of the portal) is blocked,
 * whatever its key, and reports a failed authentication to the gate (docs/reference/api.md §5, rule 5).
 */
export async function throughGate<Found>(
  origin: string | undefined,
  gate: AddressGate,
  authenticate: () => Promise<Found>,
): Promise<Found> {
  // Without an origin there is nothing to block.
  if (origin === undefined) return authenticate();
  const waitMs = gate.blockedMs(origin);
  if (waitMs > 0) {
    throw new Failure('rate_limited', 'Too many requests without a valid API key came from this address.', {
      retryAfterSeconds: Math.ceil(waitMs / 1000),
      limit: 'address-blocked',
    });
  }
  try {
    return await authenticate();
  } catch (error) {
    if (error instanceof Failure && error.code === 'unauthenticated') gate.failed(origin);
    throw error;
  }
}

/** docs/reference/api.md §5, rule 5: more than 30 failures within 30 s block an address for 30 s. */
export const tolerated = 30;
export const windowMs = 30_000;
export const blockMs = 30_000;

export interface AddressGateOptions {
  readonly clock: Clock;
  /** Most networks whose failures are remembered at once; about 300 bytes each. */
  readonly maxFailing?: number;
  /** Most networks blocked at once; about 100 bytes each. Blocking so many takes 31 times as many requests within 30 s. */
  readonly maxBlocked?: number;
  /** Called for each failure, so that replicas can count together; in a flood, not for a network's first failure. */
  readonly onFailure?: (network: string) => void;
}

export type OpenAddressGate = ReturnType<typeof createAddressGate>;

/** Shortest time between two removals of networks whose failures are too old to count. */
const tidyEveryMs = 5_000;

/**
 * A gate in bounded memory. Addresses are cheap, so an attacker could fill any bound. Then the gate forgets the network with the
 * fewest failures, and of several such networks the one that failed longest ago. To have a network forgotten, an attacker must fail
 * as often from as many other networks as are remembered; a block is never forgotten before it ends.
 */
export function createAddressGate(options: AddressGateOptions) {
  const { clock, maxFailing = 32_768, maxBlocked = 100_000, onFailure = () => undefined } = options;
  /**
   * Each network's failure times within the window, by level. A network's level is the number of its failures when the last one was
   * added.
   */
  const levels = Array.from({ length: tolerated + 2 }, () => new Map<string, readonly number[]>());
  /** When each block ends. Blocks end about in the order in which they began, which is the order of a Map. */
  const blockedUntil = new Map<string, number>();
  // Reading a Map from its front skips every entry deleted there before: evicting one at a time would cost 40 µs each.
  const evictedAtOnce = Math.max(1, maxFailing >> 4);
  let failing = 0;
  let tidyAt = 0;

  function forget(network: string): readonly number[] {
    for (const level of levels) {
      const times = level.get(network);
      if (times === undefined) continue;
      level.delete(network);
      failing -= 1;
      return times;
    }
    return [];
  }

  function tidy(now: number): void {
    tidyAt = now + tidyEveryMs;
    for (const level of levels) {
      for (const [network, times] of level) {
        if ((times.at(-1) ?? 0) > now - windowMs) continue;
        level.delete(network);
        failing -= 1;
      }
    }
  }

  function makeRoom(now: number): void {
    if (now >= tidyAt) tidy(now);
    if (failing < maxFailing) return;
    const lowest = levels.find((level) => level.size > 0);
    let most = evictedAtOnce;
    for (const oldest of lowest?.keys() ?? []) {
      lowest?.delete(oldest);
      failing -= 1;
      most -= 1;
      if (most === 0) return;
    }
  }

  function block(network: string, forMs: number): boolean {
    const now = clock.elapsed();
    for (const [other, until] of blockedUntil) {
      if (until > now) break;
      blockedUntil.delete(other);
    }
    if (blockedUntil.size >= maxBlocked && !blockedUntil.has(network)) return false;
    blockedUntil.delete(network);
    blockedUntil.set(network, now + forMs);
    return true;
  }

  return {
    blockedMs: (address: string): number =>
      blockedUntil.size === 0 ? 0 : Math.max(0, (blockedUntil.get(networkOf(address)) ?? 0) - clock.elapsed()),
    failed: (address: string): void => {
      const network = networkOf(address);
      const now = clock.elapsed();
      const recent = forget(network).filter((time) => time > now - windowMs);
      const times = [...recent, now].slice(-tolerated - 1);
      if (times.length > 1 || failing < maxFailing / 2) onFailure(network);
      if (times.length > tolerated && block(network, blockMs)) return;
      if (failing >= maxFailing) makeRoom(now);
      levels[times.length]?.set(network, times);
      failing += 1;
    },
    /** Blocks a network because another replica has blocked it. */
    block: (network: string, forMs: number): void => {
      if (block(network, forMs)) forget(network);
    },
    /** Networks remembered, for gauges. */
    failing: (): number => failing,
    blocked: (): number => blockedUntil.size,
  };
}
