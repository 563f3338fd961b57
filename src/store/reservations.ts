import type { Kysely } from 'kysely';
import type { Money } from '../core/money.ts';
import { exactSum, exactTotal, type Schema } from './schema.ts';

/**
 * What the requests of each workspace that are under way in one replica are expected to cost. Limits hold reservations in memory or
 * in Valkey; a command that corrects a balance sees neither, so each replica tells the database of its own.
 */
export type Reserved = ReadonlyMap<string, Money>;

/** How often a replica looks whether its reservations have changed. */
export const tellReservedEveryMs = 1_000;
/** What does not change is told again, so that it does not pass for what a replica has left behind that was killed. */
const tellAgainMs = 15_000;
/** Time after which a replica that told nothing counts as gone. Clocks of machines may differ by seconds. */
const goneAfterMs = 60_000;
const rowsAtOnce = 1_000;

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

/** Replaces what a replica has told before, and forgets replicas that are gone. */
export async function writeReservations(
  queries: Kysely<Schema>,
  { replica, reserved, now }: { readonly replica: string; readonly reserved: Reserved; readonly now: number },
): Promise<void> {
  const rows = [...reserved].map(([id, amount]) => ({ replica, workspace_id: id, amount, as_of: BigInt(now) }));
  await queries.transaction().execute(async (transaction) => {
    await transaction
      .deleteFrom('reservations')
      .where((row) => row.or([row('replica', '=', replica), row('as_of', '<', BigInt(now - goneAfterMs))]))
      .execute();
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      await transaction
        .insertInto('reservations')
        .values(rows.slice(at, at + rowsAtOnce))
        .execute();
    }
  });
}

/** What is reserved for the requests of a workspace that are under way, in all replicas, as they last told. */
export async function reservedFor(queries: Kysely<Schema>, workspaceId: string, now: number): Promise<Money> {
  const { total_high: high, total_low: low } = await queries
    .selectFrom('reservations')
    .select(exactSum('amount', 'total'))
    .where('workspace_id', '=', workspaceId)
    .where('as_of', '>=', BigInt(now - goneAfterMs))
    .executeTakeFirstOrThrow();
  return exactTotal(high, low);
}
