import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import {
  CannotOpen,
  type DatabaseErrorKind,
  type DatabaseFile,
  type DatabaseLocation,
  type OpenDatabase,
  type OpenOptions,
} from '../open-database.ts';
import { beginCount, type CommitCounter, keepMark } from './commit-mark.ts';
import { databaseFile, isDamage, primaryCode } from './database-file.ts';
import { describeLoss, findLoss } from './lost-commits.ts';
import { migrate } from '../migrations.ts';
import type { Schema } from '../schema.ts';
import { sqliteDialect } from './dialect.ts';
import { sqliteWrites } from './writes.ts';

type OpenSqlite = OpenDatabase & { readonly file: DatabaseFile };
type SqliteLocation = DatabaseLocation & { readonly kind: 'sqlite' };

/** How long a statement waits while another process holds the write lock: then a service's rows go to the journal. */
const lockWaitMs = { service: 1_000, operator: 5_000 } as const;
/** Well inside the second within which a change by another process must be seen. */
const pollMs = 250;
/** Primary result codes (https://sqlite.org/rescode.html) of what is wrong with the values: CONSTRAINT, MISMATCH, TOOBIG, RANGE. */
const refusals = new Set([19, 20, 18, 25]);

/**
 * Opens the file. Rejects with `CannotOpen`, and with a sentence that says what to do when there is no file, when it is damaged,
 * and when it has lost commits that were durable.
 */
export async function openSqlite(location: SqliteLocation, options: OpenOptions): Promise<OpenSqlite> {
  const { file } = location;
  refuseLoss(location);
  if (options.missing === 'refuse' && !existsSync(file)) {
    throw new Error(
      `There is no database at ${file}. \`weir workspace create NAME\` makes one; --data names its folder.`,
    );
  }
  try {
    if (options.missing === 'create') createPrivately(file);
    return await open(file, lockWaitMs[options.user]);
  } catch (cause) {
    throw new CannotOpen(location, advised(cause), 'refused');
  }
}

/** Before anything else: to open a database is to change it, and SQLite deletes a WAL that it finds beside an empty file. */
function refuseLoss(location: SqliteLocation): void {
  const { file } = location;
  let loss: ReturnType<typeof findLoss>;
  try {
    loss = findLoss(file);
  } catch (cause) {
    throw new CannotOpen(location, advised(cause), 'refused');
  }
  if (loss !== undefined) throw new CannotOpen(location, new Error(describeLoss(file, loss)), 'refused');
}

/** Adds to an error what can be done about it. */
function advised(cause: unknown): unknown {
  if (!(cause instanceof Error && isDamage(cause))) return cause;
  const advice =
    'Restore a backup, or save what can be read with SQLite\'s `.recover` (docs/accounts.md, "Backup and restore")';
  return new Error(`${cause.message}. ${advice}`, { cause });
}

async function open(file: string, waitMs: number): Promise<OpenSqlite> {
  const database = new DatabaseSync(file, { timeout: lockWaitMs.operator, enableForeignKeyConstraints: true });
  let counter: CommitCounter | undefined;
  try {
    // FULL: a commit is on the disk before it is acknowledged, through a power cut too (https://sqlite.org/pragma.html#pragma_synchronous).
    database.exec('pragma synchronous = full');
    beginCount(database);
    database.exec('pragma journal_mode = wal');
    counter = keepMark(file, database);
    const queries = new Kysely<Schema>({ dialect: sqliteDialect(database, counter) });
    await migrate(queries);
    // A change of the tables may take others longer than a statement waits.
    const wait = (ms: number) => database.exec(`pragma busy_timeout = ${ms}`);
    wait(waitMs);
    return {
      queries,
      writes: sqliteWrites,
      classify,
      probe: async () => {
        wait(0);
        try {
          database.exec('begin immediate; rollback');
        } finally {
          wait(waitMs);
        }
      },
      watch: ({ changed, confirmed }) => watch(database, { changed, confirmed }),
      announce: async () => {}, // `data_version` tells.
      file: databaseFile(database),
      close: () => queries.destroy(),
    };
  } catch (error) {
    counter?.close();
    database.close();
    throw error;
  }
}

function classify(error: unknown): DatabaseErrorKind {
  // Not a number, past 64 bits: it was never asked of the database.
  if (error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError) return 'refused';
  return error instanceof Error && refusals.has(primaryCode(error) ?? 0) ? 'refused' : 'away';
}

/** Our own commits do not change the version, those of every other connection do (https://sqlite.org/pragma.html#pragma_data_version). */
function watch(
  database: DatabaseSync,
  { changed, confirmed }: Parameters<OpenDatabase['watch']>[0],
): ReturnType<OpenDatabase['watch']> {
  const statement = database.prepare('pragma data_version');
  const version = (): number => Number(statement.get()?.['data_version']);
  let seen = version();
  const timer = setInterval(() => {
    try {
      const now = version();
      if (now === seen) confirmed();
      else changed();
      seen = now;
    } catch {
      // Neither the one nor the other is known; the next query finds out what is wrong.
    }
  }, pollMs);
  return { stop: async () => clearInterval(timer) };
}

/** SQLite gives its `-wal` and `-shm` files the mode of the database file. */
function createPrivately(file: string): void {
  if (existsSync(file)) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}
