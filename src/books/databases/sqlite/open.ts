import { dirname } from 'node:path';
import { Kysely } from 'kysely';
import { refusal } from '../../core/operator-refusals.ts';
import { type CancelTimer, type Clock, every, waitFor } from '../../../core/clock.ts';
import {
  CannotOpen,
  type DatabaseErrorKind,
  type DatabaseFile,
  type DatabaseLocation,
  type OpenDatabase,
  type OpenOptions,
} from '../database.ts';
import { type Files, type Machine, type SqliteConnection, thisMachine } from '../machine.ts';
import { databaseFile, findForeignWal, isDamage, primaryCode } from './database-file.ts';
import { createLedgerNames } from '../../ledger/ledger-names.ts';
import { migrate } from '../migrations.ts';
import type { Schema } from '../schema.ts';
import { sqliteDialect } from './dialect.ts';
import { entriesOf } from '../../ledger/stored-request.ts';
import { sqliteUpkeep } from './upkeep.ts';
import { sqliteWrites } from './writes.ts';

type OpenSqlite = OpenDatabase & { readonly file: DatabaseFile };
type SqliteLocation = DatabaseLocation & { readonly kind: 'sqlite' };

/** How long a statement waits for another process's write lock. After that a service's rows go to the journal. */
const lockWaitMs = { service: 1_000, operator: 5_000 } as const;
/** Short enough to see a change by another process within a second. */
const pollMs = 250;
const pollInQuietMs = 1_000;
/** Pause between two attempts to switch to a write-ahead log. */
const retryMs = 10;
/** Primary result code for a lock that another connection holds. */
const busy = 5;
/** Primary result codes (https://sqlite.org/rescode.html) for invalid values: CONSTRAINT, MISMATCH, TOOBIG, RANGE. */
const refusals = new Set([19, 20, 18, 25]);

/**
 * Opens the file. Rejects with `CannotOpen`, or with an error if there is no file. If the file is damaged or missing,
 * or beside the WAL of another one, the message says what to do.
 */
export async function openSqlite(
  location: SqliteLocation,
  options: OpenOptions,
  machine: Machine = thisMachine,
): Promise<OpenSqlite> {
  const { file } = location;
  const { files } = machine;
  refuseForeignWal(location, files);
  if (options.missing === 'refuse' && !files.existsSync(file)) {
    // An Error and no Refusal: `weir key suspend --override` asks the portal where a database cannot be opened.
    const { message, code } = refusal('database_missing', { file });
    throw Object.assign(new Error(message), { code });
  }
  try {
    if (options.missing === 'create') createPrivately(file, files);
    return await open(file, lockWaitMs[options.user], machine);
  } catch (cause) {
    throw new CannotOpen(location, advised(cause), 'refused');
  }
}

/** Rejects a database beside the WAL of another one before anything opens it: SQLite deletes a WAL that it finds beside an empty file. */
function refuseForeignWal(location: SqliteLocation, files: Files): void {
  const problem = findForeignWal(location.file, files);
  if (problem === undefined) return;
  const advice =
    'Nothing was changed. Put the files that belong together back, or move the WAL away (docs/operate/backup.md)';
  throw new CannotOpen(location, new Error(`${problem}. ${advice}`), 'refused');
}

/** Adds advice to an error that reports damage. */
function advised(cause: unknown): unknown {
  if (!(cause instanceof Error && isDamage(cause))) return cause;
  const advice = "Restore a backup, or save what can be read with SQLite's `.recover` (docs/operate/backup.md)";
  return new Error(`${cause.message}. ${advice}`, { cause });
}

async function open(file: string, waitMs: number, machine: Machine): Promise<OpenSqlite> {
  const { time } = machine;
  const database = machine.sqlite.open(file, { timeout: lockWaitMs.operator, enableForeignKeyConstraints: true });
  try {
    // FULL: a commit is on the disk before it is acknowledged, through a power cut too (https://sqlite.org/pragma.html#pragma_synchronous).
    database.exec('pragma synchronous = full');
    letShrink(database);
    await beginWal(database, time);
    const queries = new Kysely<Schema>({ dialect: sqliteDialect(database) });
    await migrate(queries);
    // Another process may change the tables for longer than a statement of a service waits.
    const wait = (ms: number) => database.exec(`pragma busy_timeout = ${ms}`);
    wait(waitMs);
    const names = createLedgerNames(queries);
    const prepare: OpenDatabase['prepare'] = async (rows) => entriesOf(rows, await names.number(rows));
    return {
      queries,
      writes: sqliteWrites,
      prepare,
      beginUpkeep: (options) => ({
        place: 'between',
        steps: sqliteUpkeep({ queries, writes: sqliteWrites, prepare }, options),
        stop: async () => {},
      }),
      classify,
      probe: async () => {
        wait(0);
        try {
          commitOnce(database);
        } finally {
          wait(waitMs);
        }
      },
      watch: (calls) => watch(database, calls, time),
      announce: async () => {}, // Other processes see it in `data_version`.
      file: databaseFile(database, machine),
      close: () => queries.destroy(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Commits a transaction to prove that the file can be written. A lock alone proves nothing, because a read-only disk
 * still grants it.
 */
function commitOnce(database: SqliteConnection): void {
  database.exec('begin immediate');
  try {
    // Nothing reads this field of the header. SQLite writes it although it does not change.
    database.exec('pragma user_version = 0; commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** Lets a new file give free pages back to the file system, in steps (`upkeep.ts`). A file that has tables would have to be rewritten. */
function letShrink(database: SqliteConnection): void {
  const isNew = Number(database.prepare('pragma page_count').get()?.['page_count']) === 0;
  if (isNew) database.exec('pragma auto_vacuum = incremental');
}

/**
 * Switches a new file to a write-ahead log. If another process makes the same switch at the same moment, SQLite fails
 * at once, whatever the time limit is, because the two could wait for each other.
 */
async function beginWal(database: SqliteConnection, clock: Clock): Promise<void> {
  const until = clock.elapsed() + lockWaitMs.operator;
  for (;;) {
    try {
      database.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      const isBusy = error instanceof Error && primaryCode(error) === busy;
      if (!isBusy || clock.elapsed() > until) throw error;
      await waitFor(retryMs, { clock });
    }
  }
}

function classify(error: unknown): DatabaseErrorKind {
  // The driver throws these errors before it asks the database, for example for a value past 64 bits.
  if (error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError) return 'refused';
  return error instanceof Error && refusals.has(primaryCode(error) ?? 0) ? 'refused' : 'down';
}

/** Watches `data_version`, which commits of other connections change (https://sqlite.org/pragma.html#pragma_data_version). */
function watch(
  database: SqliteConnection,
  { changed, confirmed, isQuiet = () => false }: Parameters<OpenDatabase['watch']>[0],
  clock: Clock,
): ReturnType<OpenDatabase['watch']> {
  const statement = database.prepare('pragma data_version');
  const version = (): number => Number(statement.get()?.['data_version']);
  let seen = version();
  const look = (): void => {
    try {
      const now = version();
      if (now === seen) confirmed();
      else changed();
      seen = now;
    } catch {
      // Neither `changed` nor `confirmed` is called, and the next query reports the error.
    }
  };
  const begin = (): CancelTimer => every(clock, () => (isQuiet() ? pollInQuietMs : pollMs), look);
  let stop = begin();
  return {
    wake: () => {
      stop();
      look();
      stop = begin();
    },
    stop: async () => stop(),
  };
}

/** SQLite gives its `-wal` and `-shm` files the mode of the database file. */
function createPrivately(file: string, files: Files): void {
  if (files.existsSync(file)) return;
  files.mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  files.closeSync(files.openSync(file, 'a', 0o600));
  files.chmodSync(file, 0o600);
}
