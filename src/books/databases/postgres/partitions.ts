import { type Kysely, sql } from 'kysely';
import { droppedBefore, keptSince } from '../../ledger/kept-since.ts';
import { firstIdAt } from '../../core/packed-id.ts';
import type { Schema } from '../schema.ts';

/**
 * A month of the table `requests`. There is no default partition: PostgreSQL then refuses a row whose month was
 * deleted. With a default partition, it could not detach a month beside writers.
 */
export interface Month {
  /** First moment, milliseconds since the Unix epoch. */
  readonly from: number;
  /** First moment of the next month. */
  readonly to: number;
}

export function monthOf(moment: number): Month {
  const date = new Date(moment);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { from: Date.UTC(year, month, 1), to: Date.UTC(year, month + 1, 1) };
}

export type Partitions = ReturnType<typeof createPartitions>;

export function createPartitions(queries: Kysely<Schema>) {
  let known: readonly Month[] = [];

  return {
    /** Forgets which partitions exist. `makeRoom` then looks for them again. */
    forget: (): void => {
      known = [];
    },
    /**
     * Makes the missing partitions of these moments. Throws a RangeError for a moment whose requests were deleted: a
     * request that is settled again must not be charged again.
     */
    makeRoom: async (moments: readonly number[]): Promise<void> => {
      for (const moment of moments) {
        if (known.some(({ from, to }) => moment >= from && moment < to)) continue;
        const month = monthOf(moment);
        await makePartition(queries, month);
        known = [...known, month];
      }
    },
  };
}

function partitionName({ from }: Month): string {
  return `requests_${new Date(from).toISOString().slice(0, 7).replace('-', '_')}`;
}

/** One replica at a time makes or drops partitions of a schema. */
export const partitionsLock = sql<bigint>`hashtextextended('weir partitions ' || current_schema(), 0)`;

/**
 * Makes the table first and attaches it then, because that needs a weaker lock than `partition of`. The check
 * constraint spares PostgreSQL reading the table. Beside two writers this takes 10 ms.
 */
async function makePartition(queries: Kysely<Schema>, month: Month): Promise<void> {
  const name = partitionName(month);
  const [from, to] = [sql.lit(firstIdAt(month.from)), sql.lit(firstIdAt(month.to))];
  await queries.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${partitionsLock})`.execute(transaction);
    const kept = await keptSince(transaction);
    if (month.from < kept) throw droppedBefore(kept);
    const { rows } = await sql<{ found: boolean }>`select to_regclass(${name}) is not null as found`.execute(
      transaction,
    );
    if (rows[0]?.found === true) return;
    const table = sql.table(name);
    await sql`create table ${table} (like requests including all,
      constraint ${sql.ref(`${name}_bounds`)} check (id >= ${from}::uuid and id < ${to}::uuid))`.execute(transaction);
    await sql`alter table requests attach partition ${table} for values from (${from}) to (${to})`.execute(transaction);
    await sql`alter table ${table} drop constraint ${sql.ref(`${name}_bounds`)}`.execute(transaction);
  });
}
