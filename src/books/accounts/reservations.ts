import type { Kysely } from 'kysely';
import type { Money } from '../../core/money.ts';
import type { Reserved } from './reservation-report.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';

/**
 * Time after which a silent replica counts as gone. Clocks of machines may differ by seconds. A report that is dated
 * this much later than now was written before a clock was set back. It is ignored: its replica is gone, or reports
 * again within seconds.
 */
export const goneAfterMs = 60_000;
const rowsAtOnce = 1_000;

/** Replaces the last report of a replica. A thousand replicas may do so every second, so only the replica's own rows are touched. */
export async function writeReservations(
  queries: Kysely<Schema>,
  { replica, reserved, now }: { readonly replica: string; readonly reserved: Reserved; readonly now: number },
): Promise<void> {
  const rows = [...reserved].map(([id, amount]) => ({ replica, workspace_id: id, amount, as_of: BigInt(now) }));
  await queries.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('reservations').where('replica', '=', replica).execute();
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      await transaction
        .insertInto('reservations')
        .values(rows.slice(at, at + rowsAtOnce))
        .execute();
    }
  });
}

/** Deletes the reports of replicas that are gone. Reads the whole table. */
export async function forgetGone(queries: Kysely<Schema>, now: number): Promise<void> {
  await queries
    .deleteFrom('reservations')
    .where((row) =>
      row.or([row('as_of', '<', BigInt(now - goneAfterMs)), row('as_of', '>', BigInt(now + goneAfterMs))]),
    )
    .execute();
}

/** The sum of the reservations of a workspace in all replicas, by their last reports. */
export async function reservedFor(queries: Kysely<Schema>, workspaceId: string, now: number): Promise<Money> {
  const { total_high: high, total_low: low } = await queries
    .selectFrom('reservations')
    .select(exactSum('amount', 'total'))
    .where('workspace_id', '=', workspaceId)
    .where('as_of', '>=', BigInt(now - goneAfterMs))
    .where('as_of', '<=', BigInt(now + goneAfterMs))
    .executeTakeFirstOrThrow();
  return exactTotal(high, low);
}
