import type { Kysely } from 'kysely';
import { oldLedgerColumns } from './ledger-row.ts';
import type { OpenDatabase } from './open-database.ts';
import type { Schema } from './schema.ts';
import type { LedgerEntry } from './stored-request.ts';
import { addToRollups } from './usage-rollup.ts';

// The table `ledger` of the version before: its rows move to `requests` and the rollups while the service runs. Replicas of the
// version before may go on writing to it until they are replaced. All of this goes with the next minor version.

/** Leaves out the requests that the version before has settled: only their ids are of its form. */
export async function notInOldLedger(
  queries: Kysely<Schema>,
  entries: readonly LedgerEntry[],
): Promise<readonly LedgerEntry[]> {
  const ids = entries.flatMap(({ stored }) => (stored.request_text === '' ? [] : [stored.request_text]));
  if (ids.length === 0) return entries;
  const rows = await queries.selectFrom('ledger').select('request_id').where('request_id', 'in', ids).execute();
  if (rows.length === 0) return entries;
  const settled = new Set(rows.map((row) => row.request_id));
  return entries.filter(({ stored }) => !settled.has(stored.request_text));
}

export async function isOldLedgerEmpty(queries: Kysely<Schema>): Promise<boolean> {
  return (await queries.selectFrom('ledger').select('request_id').limit(1).executeTakeFirst()) === undefined;
}

/**
 * Moves the oldest rows, at most so many, in one transaction; their costs were charged when they were settled. Returns how many
 * were moved. Rows that are moved are never in both tables, nor in neither, for whoever reads as of one moment.
 */
export async function moveOldRows(
  { queries, writes, prepare }: Pick<OpenDatabase, 'queries' | 'writes' | 'prepare'>,
  limit: number,
): Promise<number> {
  const old = await queries.selectFrom('ledger').select(oldLedgerColumns).orderBy('started_at').limit(limit).execute();
  if (old.length === 0) return 0;
  const rows = old.map((row) => ({ ...row, routes: null }));
  const entries = await prepare(rows);
  return queries
    .transaction()
    .setIsolationLevel('read committed')
    .execute(async (transaction) => {
      // Another replica may have moved some of them meanwhile: only what is deleted here is counted here.
      const deleted = await transaction
        .deleteFrom('ledger')
        .where(
          'request_id',
          'in',
          rows.map((row) => row.request_id),
        )
        .returning('request_id')
        .execute();
      const mine = new Set(deleted.map((row) => row.request_id));
      const moving = entries.filter((_, index) => mine.has(rows[index]?.request_id ?? ''));
      await transaction.getExecutor().provideConnection(async (connection) => {
        const written = await writes.insertRequests(connection, moving);
        await addToRollups(
          written.map((entry) => entry.counted),
          (table, usage) => writes.addUsage(connection, table, usage),
        );
      });
      return deleted.length;
    });
}
