import { type Kysely, sql } from 'kysely';
import { keptSince, setKeptSince } from '../../ledger/kept-since.ts';
import type { OpenDatabase, Upkeep, UpkeepOptions, UpkeepStep } from '../database.ts';
import type { Schema } from '../schema.ts';
import { deleteOldAlerts, deleteOldRefusals, dropBefore, proveHours } from '../upkeep.ts';
import { type Month, monthOf, type Partitions, partitionsLock } from './partitions.ts';

const hourMs = 3_600_000;
/**
 * Partitions are made this long before they are needed. A service that was off for a month makes the next one when it
 * settles.
 */
const aheadMs = [0, 31, 62].map((days) => days * 24 * hourMs);

/**
 * Upkeep of a PostgreSQL database, on a connection of its own without time limits. Only the replica that has the lock
 * runs the upkeep. The lock ends with its connection.
 */
export async function* postgresUpkeep(
  database: Pick<OpenDatabase, 'queries' | 'writes' | 'prepare'>,
  options: UpkeepOptions & {
    readonly partitions: Partitions;
    /** A further connection, for a lock behind a pooler. */
    readonly locks: Kysely<Schema>;
    readonly isPooled: () => boolean;
  },
): Upkeep {
  const { queries } = database;
  for (;;) {
    const now = options.now();
    await options.partitions.makeRoom(aheadMs.map((ms) => now + ms));
    const unlock = options.isPooled() ? await lockInTransaction(options.locks) : await lockConnection(queries);
    if (unlock !== undefined) {
      try {
        yield* dropMonths(database, options);
        yield* deleteOldAlerts(database, options);
        yield* deleteOldRefusals(database);
      } finally {
        await unlock();
      }
    }
    yield 'done';
  }
}

const lock = sql`hashtextextended('weir upkeep ' || current_schema(), 0)`;

/** Returns a function that releases the lock. Undefined: another process has it. */
async function lockConnection(queries: Kysely<Schema>): Promise<(() => Promise<unknown>) | undefined> {
  const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_lock(${lock}) as mine`.execute(queries);
  return rows[0]?.mine === true ? () => sql`select pg_advisory_unlock(${lock})`.execute(queries) : undefined;
}

/** Behind a pooler only a transaction keeps its connection. */
async function lockInTransaction(locks: Kysely<Schema>): Promise<(() => Promise<unknown>) | undefined> {
  const transaction = await locks.startTransaction().execute();
  const unlock = () => transaction.rollback().execute();
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction);
  const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${lock}) as mine`.execute(transaction);
  if (rows[0]?.mine === true) return unlock;
  await unlock();
  return undefined;
}

async function* dropMonths(
  database: Pick<OpenDatabase, 'queries'>,
  options: UpkeepOptions,
): AsyncGenerator<UpkeepStep, void> {
  const { queries } = database;
  const before = dropBefore(options);
  for (const partition of await partitionsOf(queries)) {
    const { month } = partition;
    if (month.to > before) continue;
    // A detached table was compared with its rollups by the process that detached it.
    if (partition.state === 'attached') {
      const { report } = options;
      const proven = yield* proveHours(database, {
        ...{ until: month.to, requestsInStep: Number.POSITIVE_INFINITY, report },
        proven: async function* () {
          yield 'more';
        },
      });
      if (!proven) return;
      await release(queries, month);
    }
    await drop(queries, partition);
    yield 'more';
  }
}

interface Partition {
  readonly name: string;
  readonly month: Month;
  /** `pending`: a detachment was cut off. Its rows are invisible already. */
  readonly state: 'attached' | 'pending' | 'detached';
}

/** The tables of months, the oldest first, including tables that are being detached or have been detached. */
async function partitionsOf(queries: Kysely<Schema>): Promise<readonly Partition[]> {
  const { rows } = await sql<{ name: string; pending: boolean | null }>`
    select relname as name, inhdetachpending as pending
    from pg_class left join pg_inherits on inhrelid = pg_class.oid and inhparent = 'requests'::regclass
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname ~ '^requests_[0-9]{4}_[0-9]{2}$'
    order by relname
  `.execute(queries);
  return rows.map(({ name, pending }) => ({
    name,
    month: monthOf(Date.parse(`${name.slice(9, 13)}-${name.slice(14)}-01`)),
    state: pending === null ? 'detached' : pending ? 'pending' : 'attached',
  }));
}

/** After this, no request of the month is settled, and its partition is not made again (`createPartitions`). */
async function release(queries: Kysely<Schema>, { to }: Month): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${partitionsLock})`.execute(transaction);
    await setKeptSince(transaction, to);
  });
}

/**
 * Dropping a partition during a report would block every settlement. Detaching it concurrently waits for the report and
 * blocks no query. Dropping the detached table blocks no query either.
 */
async function drop(queries: Kysely<Schema>, { name, month, state }: Partition): Promise<void> {
  if (month.to > (await keptSince(queries))) return;
  const table = sql.table(name);
  if (state === 'pending') await sql`alter table requests detach partition ${table} finalize`.execute(queries);
  if (state === 'attached') await sql`alter table requests detach partition ${table} concurrently`.execute(queries);
  await sql`drop table ${table}`.execute(queries);
}
