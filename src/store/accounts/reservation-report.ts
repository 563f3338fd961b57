import type { Money } from '../../core/money.ts';

// Apart from `reservations.ts`, so that the service's own thread does not load the query layer: it would start 0.2 s later.

/**
 * What the requests of each workspace that are under way in one replica are expected to cost. Limits hold reservations in memory or
 * in Valkey; a command that corrects a balance sees neither, so each replica tells the database of its own.
 */
export type Reserved = ReadonlyMap<string, Money>;

/** How often a replica looks whether its reservations have changed. */
export const tellReservedEveryMs = 1_000;
/** What does not change is told again, so that it does not pass for what a replica has left behind that was killed. */
const tellAgainMs = 15_000;

/** Tells whether reservations have to be told now. Nothing is written for a replica without requests. */
export function createReservationReport(): (reserved: Reserved, elapsed: number) => boolean {
  let told: Reserved = new Map();
  let toldAt = 0;
  return (reserved, elapsed) => {
    const isSame = told.size === reserved.size && [...told].every(([id, amount]) => reserved.get(id) === amount);
    if (isSame && (reserved.size === 0 || elapsed - toldAt < tellAgainMs)) return false;
    told = reserved;
    toldAt = elapsed;
    return true;
  };
}
