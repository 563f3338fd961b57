import { Kysely, sql } from 'kysely';
import { DatabaseError } from 'pg';
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
import { createLedgerNames, type LedgerNames } from '../../ledger/ledger-names.ts';
import { entriesOf } from '../../ledger/stored-request.ts';
import { createPartitions, type Partitions } from './partitions.ts';
import { postgresUpkeep } from './upkeep.ts';
import { postgresWrites } from './writes.ts';
import type { Schema } from '../schema.ts';

type PostgresLocation = DatabaseLocation & { readonly kind: 'postgres' };

/** The store does one thing at a time. A second connection is needed while a broken one is not closed yet. */
const maxConnections = 2;

/** SQLSTATE classes for invalid values: data exception, integrity constraint (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const refusedClasses = new Set(['22', '23']);
/** Serialization failure, deadlock. */
const againCodes = new Set(['40001', '40P01']);
/** SQLSTATE classes that waiting cannot solve: wrong password or name, no such database, no permission. */
const hopelessClasses = new Set(['28', '3D', '42', '0A']);

/** Errors of a server that is not up yet, or down; every other code, such as that of a bad certificate, is a mistake in the settings. */
const networkCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'ENOENT'],
]);

/** Connects and brings the tables up to date. Rejects with `CannotOpen`. */
export async function openPostgres(
  location: PostgresLocation,
  options: OpenOptions,
  machine: Pick<Machine, 'time' | 'postgres'> = thisMachine,
): Promise<OpenDatabase> {
  try {
    return await open(location.url, options, machine);
  } catch (cause) {
    throw new CannotOpen(location, cause, isHopeless(cause) ? 'refused' : 'away');
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
  const queries = new Kysely<Schema>({ dialect: new WeirPostgresDialect({ pool: connections.unboundedPool() }) });
  const partitions = createPartitions(queries);
  const prepare = preparing(createLedgerNames(queries), partitions);
  return {
    place: 'beside',
    steps: postgresUpkeep({ queries, writes: postgresWrites, prepare }, { ...options, partitions }),
    stop: async () => {
      await connections.drop();
      await queries.destroy();
    },
  };
}

async function migrateWithoutTimeout(connections: PostgresConnections): Promise<void> {
  const unbounded = new Kysely<Schema>({ dialect: new WeirPostgresDialect({ pool: connections.unboundedPool() }) });
  try {
    await migrate(unbounded);
  } finally {
    await unbounded.destroy();
  }
}

function classify(error: unknown): DatabaseErrorKind {
  if (error instanceof PreparedElsewhere) return 'again';
  if (error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError) return 'refused';
  if (!(error instanceof DatabaseError)) return 'away';
  const { code = '' } = error;
  if (againCodes.has(code)) return 'again';
  return refusedClasses.has(code.slice(0, 2)) ? 'refused' : 'away';
}

function isHopeless(error: unknown): boolean {
  if (error instanceof DatabaseError) return hopelessClasses.has((error.code ?? '').slice(0, 2));
  if (!(error instanceof Error)) return false;
  // An error without a code is from the driver, about a connection that broke or timed out, or from Weir, about a URL,
  // a file or the tables.
  return 'code' in error ? !networkCodes.has(String(error.code)) : !/timeout|terminated|closed/i.test(error.message);
}
