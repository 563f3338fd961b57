import { Kysely, sql } from 'kysely';
import {
  CannotOpen,
  type DatabaseErrorKind,
  type DatabaseLocation,
  type OpenDatabase,
  type OpenOptions,
  type UpkeepOptions,
} from '../database.ts';
import { type Machine, thisMachine } from '../machine.ts';
import { isUpToDate, migrate } from '../migrations.ts';
import {
  changesChannel,
  listenForChanges,
  postgresConnections,
  type PostgresConnections,
  WeirPostgresDialect,
} from './connections.ts';
import { isHopeless, kindOf } from './errors.ts';
import { createLedgerNames, type LedgerNames } from '../../ledger/ledger-names.ts';
import { entriesOf } from '../../ledger/stored-request.ts';
import { createPartitions, type Partitions } from './partitions.ts';
import { postgresUpkeep } from './upkeep.ts';
import { postgresWrites } from './writes.ts';
import type { Schema } from '../schema.ts';

type PostgresLocation = DatabaseLocation & { readonly kind: 'postgres' };

/** The store does one thing at a time. A second connection is needed while a broken one is not closed yet. */
const maxConnections = 2;

/** Connects and brings the tables up to date. Rejects with `CannotOpen`. */
export async function openPostgres(
  location: PostgresLocation,
  options: OpenOptions,
  machine: Pick<Machine, 'time' | 'postgres'> = thisMachine,
): Promise<OpenDatabase> {
  try {
    return await open(location.url, options, machine);
  } catch (cause) {
    throw new CannotOpen(location, cause, isHopeless(cause) ? 'refused' : 'down');
  }
}

async function open(
  url: string,
  { user }: OpenOptions,
  { time, postgres: connect = postgresConnections }: Pick<Machine, 'time' | 'postgres'>,
): Promise<OpenDatabase> {
  const connections = connect(url);
  // A new connection may lead to a replica that took over without the newest commits, so the remembered numbers are
  // read again.
  let made = 0;
  let preparedAt = 0;
  let forget = (): void => undefined;
  const queries = new Kysely<Schema>({
    dialect: new WeirPostgresDialect({
      pool: user === 'service' ? connections.pool(maxConnections) : connections.unboundedPool(),
      transactionSettings: () => connections.transactionSettings(user === 'service' ? 'bounded' : 'unbounded'),
      // No statements here: when one fails, Kysely does not give the connection back to the pool.
      onCreateConnection: async () => {
        made += 1;
        forget();
      },
    }),
  });
  try {
    await sql`select 1`.execute(queries);
    if (!(await isUpToDate(queries))) await migrateWithoutTimeout(connections);
  } catch (error) {
    await queries.destroy();
    throw error;
  }
  const names = createLedgerNames(queries);
  const partitions = createPartitions(queries);
  forget = () => {
    names.forget();
    partitions.forget();
  };
  const prepare = preparing(names, partitions);
  return {
    queries,
    writes: {
      ...postgresWrites,
      insertRequests: async (connection, entries) => {
        if (made !== preparedAt) throw new PreparedElsewhere();
        return postgresWrites.insertRequests(connection, entries);
      },
    },
    prepare: async (rows) => {
      const begun = made;
      const entries = await prepare(rows).catch((error: unknown) => {
        throw made === begun ? error : new PreparedElsewhere();
      });
      if (made !== begun) throw new PreparedElsewhere();
      preparedAt = made;
      return entries;
    },
    beginUpkeep: (options) => beginUpkeep(connect(url), options),
    classify,
    probe: async () => {
      await connections.drop();
      const { rows } = await sql<{ writable: boolean }>`
        select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable
      `.execute(queries);
      if (rows[0]?.writable !== true) throw new Error('the server only reads: it is a standby');
    },
    watch: ({ changed }) => listenForChanges(connections, time, changed),
    file: undefined,
    announce: async () => {
      await sql`select pg_notify(${changesChannel}, '')`.execute(queries);
    },
    close: () => queries.destroy(),
  };
}

/** Rows were prepared with a connection that has since ended. */
class PreparedElsewhere extends Error {
  constructor() {
    super('the connection has changed since the rows were prepared');
  }
}

function preparing(names: LedgerNames, partitions: Partitions): OpenDatabase['prepare'] {
  return async (rows) => {
    const entries = entriesOf(rows, await names.number(rows));
    await partitions.makeRoom(entries.map(({ counted }) => counted.startedAt));
    return entries;
  };
}

/** Upkeep has a connection of its own, because a step may wait for the reports of other processes. */
function beginUpkeep(
  connections: PostgresConnections,
  options: UpkeepOptions,
): ReturnType<OpenDatabase['beginUpkeep']> {
  const queries = unboundedQueries(connections);
  const locks = unboundedQueries(connections);
  const partitions = createPartitions(queries);
  const prepare = preparing(createLedgerNames(queries), partitions);
  return {
    place: 'beside',
    steps: postgresUpkeep(
      { queries, writes: postgresWrites, prepare },
      {
        ...{ ...options, partitions, locks },
        isPooled: () => connections.transactionSettings('unbounded') !== undefined,
      },
    ),
    stop: async () => {
      await connections.drop();
      await queries.destroy();
      await locks.destroy();
    },
  };
}

const unboundedQueries = (connections: PostgresConnections): Kysely<Schema> =>
  new Kysely<Schema>({
    dialect: new WeirPostgresDialect({
      pool: connections.unboundedPool(),
      transactionSettings: () => connections.transactionSettings('unbounded'),
    }),
  });

async function migrateWithoutTimeout(connections: PostgresConnections): Promise<void> {
  const unbounded = unboundedQueries(connections);
  try {
    await migrate(unbounded);
  } finally {
    await unbounded.destroy();
  }
}

function classify(error: unknown): DatabaseErrorKind {
  return error instanceof PreparedElsewhere ? 'again' : kindOf(error);
}
