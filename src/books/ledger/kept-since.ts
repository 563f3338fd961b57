import type { Kysely } from 'kysely';
import type { Schema } from '../databases/schema.ts';

/** The moment from which on all requests are kept, milliseconds since the Unix epoch; 0 while none was ever dropped. */
export async function keptSince(queries: Kysely<Schema>): Promise<number> {
  const row = await queries
    .selectFrom('ledger_state')
    .select('value')
    .where('name', '=', 'kept_since')
    .executeTakeFirst();
  return Number(row?.value ?? 0n);
}

/** Records that requests before a moment will be deleted. From then on, none of them is settled. The moment never goes back. */
export async function setKeptSince(queries: Kysely<Schema>, moment: number): Promise<void> {
  await queries
    .insertInto('ledger_state')
    .values({ name: 'kept_since', value: BigInt(moment) })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ value: BigInt(moment) })
        .where('ledger_state.value', '<', BigInt(moment)),
    )
    .execute();
}

/** The error for a request that started before the kept ones. It may have been settled and deleted, and no request may be charged twice. */
export function droppedBefore(kept: number): RangeError {
  return new RangeError(
    `the request is older than ${new Date(kept).toISOString()}, before which requests were dropped (WEIR_LEDGER_RETENTION_DAYS): the ledger no longer shows whether it was settled`,
  );
}
