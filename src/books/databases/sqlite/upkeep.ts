import { sql } from 'kysely';
import { keptSince } from '../../ledger/kept-since.ts';
import type { OpenDatabase, Upkeep, UpkeepOptions, UpkeepStep } from '../database.ts';
import { firstIdAt } from '../../core/packed-id.ts';
import { idValue } from '../sql-dialect.ts';
import { deleteOldAlerts, deleteOldRefusals, dropBefore, proveHours, releaseHour } from '../upkeep.ts';

/** Hours of rollups in a step: about 10 ms, and settlements run between steps. */
const rowsInStep = 200;
/** Requests that are proven in a step: also about 10 ms. */
const requestsInStep = 5_000;
/** Pages that are given back to the file system in a step: 2 to 20 ms. */
const pagesInStep = 50;

/**
 * Upkeep of a file, on its only connection. Requests are deleted hour by hour. The file shrinks with them if it was
 * made for that; `weir ledger shrink` converts an older one.
 */
export async function* sqliteUpkeep(
  database: Pick<OpenDatabase, 'queries' | 'writes' | 'prepare'>,
  options: UpkeepOptions,
): Upkeep {
  for (;;) {
    // Deletes the rest of the requests that an earlier process began to delete.
    yield* deleteReleased(database);
    const until = dropBefore(options);
    const { report } = options;
    yield* proveHours(database, {
      ...{ until, requestsInStep, report },
      proven: async function* (hour) {
        await releaseHour(database, hour);
        yield* deleteReleased(database);
      },
    });
    yield* deleteOldAlerts(database, options);
    yield* deleteOldRefusals(database);
    yield* shrink(database);
    yield 'done';
  }
}

async function* deleteReleased({ queries }: Pick<OpenDatabase, 'queries'>): AsyncGenerator<UpkeepStep, void> {
  const kept = idValue(queries, firstIdAt(await keptSince(queries)));
  for (;;) {
    const { rows: released } = await sql`select 1 from requests where id < ${kept} limit 1`.execute(queries);
    if (released.length === 0) return;
    await queries.transaction().execute((transaction) =>
      sql`delete from requests where id in (
        select id from requests where id < ${kept} order by id limit ${sql.lit(rowsInStep)}
      )`.execute(transaction),
    );
    yield 'more';
  }
}

/** Gives free pages back to the file system. Does nothing to a file that was not made for that. */
async function* shrink({ queries }: Pick<OpenDatabase, 'queries'>): AsyncGenerator<UpkeepStep, void> {
  for (;;) {
    const { rows: modes } = await sql<{ auto_vacuum: bigint }>`pragma auto_vacuum`.execute(queries);
    const { rows: free } = await sql<{ freelist_count: bigint }>`pragma freelist_count`.execute(queries);
    // A few free pages will be used again soon.
    if (modes[0]?.auto_vacuum !== 2n || (free[0]?.freelist_count ?? 0n) < BigInt(pagesInStep)) return;
    await sql`pragma incremental_vacuum(${sql.lit(pagesInStep)})`.execute(queries);
    yield 'more';
  }
}
