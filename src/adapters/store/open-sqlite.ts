import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import type { DatabaseLocation } from './database-location.ts';
import { migrate } from './migrate.ts';
import { CannotOpen, type OpenDatabase, type OpenOptions, type Verdict } from './open-database.ts';
import type { Schema } from './schema.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { sqliteWrites } from './sqlite-writes.ts';

type SqliteLocation = DatabaseLocation & { readonly kind: 'sqlite' };

/** How long a statement waits while another process holds the write lock: then a service's rows go to the journal. */
const lockWaitMs = { service: 1_000, operator: 5_000 } as const;
/** Well inside the second within which a change by another process must be seen. */
const pollMs = 250;
/** Primary result codes (https://sqlite.org/rescode.html) of what is wrong with the values: CONSTRAINT, MISMATCH, TOOBIG, RANGE. */
const refusals = new Set([19, 20, 18, 25]);

/** Opens the file. Rejects with `CannotOpen`, and with a sentence that says what to do when there is none. */
export async function openSqlite(location: SqliteLocation, options: OpenOptions): Promise<OpenDatabase> {
  const { file } = location;
  if (options.missing === 'refuse' && !existsSync(file)) {
    throw new Error(
      `There is no database at ${file}. \`weir workspace create NAME\` makes one; --data names its folder.`,
    );
  }
  try {
    if (options.missing === 'create') createPrivately(file);
    return await open(file, lockWaitMs[options.user]);
  } catch (cause) {
    throw new CannotOpen(location, cause, 'refused');
  }
}

async function open(file: string, waitMs: number): Promise<OpenDatabase> {
  const database = new DatabaseSync(file, { timeout: lockWaitMs.operator, enableForeignKeyConstraints: true });
  try {
    // FULL: a commit is on the disk before it is acknowledged, through a power cut too (https://sqlite.org/pragma.html#pragma_synchronous).
    database.exec('pragma journal_mode = wal; pragma synchronous = full;');
    const queries = new Kysely<Schema>({ dialect: sqliteDialect(database) });
    await migrate(queries);
    // A change of the tables may take others longer than a statement waits.
    const wait = (ms: number) => database.exec(`pragma busy_timeout = ${ms}`);
    wait(waitMs);
    return {
      queries,
      writes: sqliteWrites,
      judge,
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
      close: () => queries.destroy(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function judge(error: unknown): Verdict {
  // Not a number, past 64 bits: it was never asked of the database.
  if (error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError) return 'refused';
  // The low byte of an extended result code is the primary one.
  if (error instanceof Error && 'errcode' in error)
    return refusals.has(Number(error.errcode) & 0xff) ? 'refused' : 'away';
  return 'away';
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
