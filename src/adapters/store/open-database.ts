import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { migrate } from './migrate.ts';
import type { Schema } from './schema.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** How long a statement waits while another process holds the write lock. */
const busyTimeoutMs = 5_000;

export interface OpenDatabase {
  readonly queries: Kysely<Schema>;
  /** A number that changes when another connection, of any process, has committed a change. */
  readonly dataVersion: () => number;
  readonly close: () => Promise<void>;
}

export interface DatabaseLocation {
  /** Path of the SQLite file. */
  readonly file: string;
  /** Whether a missing file (and its folder) is made, readable by its owner alone, or refused. */
  readonly missing: 'create' | 'refuse';
}

/**
 * Opens the accounts and the ledger and brings their tables up to date.
 * Throws an Error whose message is a sentence that names the file.
 */
export async function openDatabase(location: DatabaseLocation): Promise<OpenDatabase> {
  const { file } = location;
  if (!existsSync(file)) {
    if (location.missing === 'refuse') {
      throw new Error(
        `There is no database at ${file}. \`weir workspace create NAME\` makes one; --data names its folder.`,
      );
    }
  }
  try {
    if (location.missing === 'create') createPrivately(file);
    return await open(file);
  } catch (cause) {
    throw new Error(`Cannot open the database at ${file}: ${reason(cause)}.`, { cause });
  }
}

async function open(file: string): Promise<OpenDatabase> {
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  try {
    // FULL: a commit is on the disk before it is acknowledged, through a power cut too (https://sqlite.org/pragma.html#pragma_synchronous).
    database.exec('pragma journal_mode = wal; pragma synchronous = full;');
    const queries = new Kysely<Schema>({ dialect: sqliteDialect(database) });
    await migrate(queries);
    const version = database.prepare('pragma data_version');
    return { queries, dataVersion: () => Number(version.get()?.['data_version']), close: () => queries.destroy() };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite gives its `-wal` and `-shm` files the mode of the database file. */
function createPrivately(file: string): void {
  if (existsSync(file)) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}

function reason(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/\.$/, '');
}
