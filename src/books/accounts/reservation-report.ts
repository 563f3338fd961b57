import type { Money } from '../../core/money.ts';

// This is not in `reservations.ts`, so that the service's own thread does not load the query layer. It would start 0.2 s later.

/**
 * The expected cost of the requests under way in one replica, by workspace. Limits keep reservations in memory or in
 * Valkey, where a command that corrects a balance does not see them. So each replica writes its own into the database.
 */
export type Reserved = ReadonlyMap<string, Money>;

/** How often a replica checks whether its reservations have changed. */
export const reportReservedEveryMs = 1_000;
/** Unchanged reservations are written again after this time. Otherwise they would look like those of a killed replica. */
const tellAgainMs = 15_000;

/** Returns a function that decides whether to write reservations now. A replica without requests writes none. */
export function createReservationReport(): (reserved: Reserved, elapsed: number) => boolean {
  let reported: Reserved = new Map();
  let toldAt = 0;
  return (reserved, elapsed) => {
    const isSame =
      reported.size === reserved.size && [...reported].every(([id, amount]) => reserved.get(id) === amount);
    if (isSame && (reserved.size === 0 || elapsed - toldAt < tellAgainMs)) return false;
    reported = reserved;
    toldAt = elapsed;
    return true;
  };
}
