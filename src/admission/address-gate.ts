import type { AddressGate } from '../core/address-gate.ts';
import { networkOf } from '../core/address-network.ts';
import type { Clock } from '../core/clock.ts';

/** docs/reference/api.md §5, rule 5: more than 30 failures within 30 s block an address for 30 s. */
export const tolerated = 30;
export const windowMs = 30_000;
export const blockMs = 30_000;

export interface AddressGateOptions {
  readonly clock: Clock;
  /** Networks whose failures are remembered at once; about 300 bytes each. */
  readonly maxFailing?: number;
  /** Networks blocked at once; about 100 bytes each. Blocking so many takes 31 times as many requests within 30 s. */
  readonly maxBlocked?: number;
  /** Told of each failure, for replicas that count together; not of those that come once while strangers flood it. */
  readonly onFailure?: (network: string) => void;
}

export interface OpenAddressGate extends AddressGate {
  /** Blocks a network on another replica's word. */
  readonly block: (network: string, forMs: number) => void;
  /** Networks remembered, for gauges. */
  readonly failing: () => number;
  readonly blocked: () => number;
}

/** Least time between two searches through all that is remembered. */
const tidyEveryMs = 5_000;

/**
 * A gate in bounded memory. Addresses are cheap, so a stranger could use up any bound: what is pushed out then is whoever
 * has failed least often, longest ago. To have a network forgotten, one must fail as often from as many others as are
 * remembered; and a block is never pushed out at all.
 */
export function createAddressGate(options: AddressGateOptions): OpenAddressGate {
  const { clock, maxFailing = 32_768, maxBlocked = 100_000, onFailure = () => undefined } = options;
  /** The times of a network's failures within the window, by how many they were when the last was added. */
  const levels = Array.from({ length: tolerated + 2 }, () => new Map<string, readonly number[]>());
  /** When each block ends. They end about in the order in which they began, which is the order of a Map. */
  const blockedUntil = new Map<string, number>();
  // A Map steps over what was deleted from its front each time it is read from there: one at a time would cost 40 µs.
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
    blockedMs: (address) =>
      blockedUntil.size === 0 ? 0 : Math.max(0, (blockedUntil.get(networkOf(address)) ?? 0) - clock.elapsed()),
    failed: (address) => {
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
    block: (network, forMs) => {
      if (block(network, forMs)) forget(network);
    },
    failing: () => failing,
    blocked: () => blockedUntil.size,
  };
}
