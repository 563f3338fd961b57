import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Files, Machine, SqliteConnection, SqliteDriver } from '../machine.ts';
import type { DatabaseFile } from '../database.ts';

/** The operations on the file of an open SQLite database. */
export function databaseFile(
  database: SqliteConnection,
  { files, sqlite }: Pick<Machine, 'files' | 'sqlite'>,
): DatabaseFile {
  return {
    shrink: () => shrink(database, files),
    findDamage: () => findDamage(database, 'integrity_check'),
    copyTo: async (path) => {
      if (files.existsSync(path))
        throw new Error(`There is a file ${path} already, and a backup never takes the place of one.`);
      const partial = `${path}.${randomBytes(4).toString('hex')}.partial`;
      try {
        // Only the owner may read the copy, from its first byte on.
        files.closeSync(files.openSync(partial, 'wx', 0o600));
        await sqlite.backUp(database, partial);
        const rows = finishCopy(partial, sqlite);
        syncPath(partial, files);
        files.renameSync(partial, path);
        syncPath(dirname(path), files);
        return { rows };
      } finally {
        for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(partial + suffix, { force: true });
      }
    },
  };
}

function shrink(database: SqliteConnection, files: Files): ReturnType<DatabaseFile['shrink']> {
  const bytes = (): number => {
    // The file shrinks when the WAL is checkpointed.
    database.exec('pragma wal_checkpoint(truncate)');
    return files.statSync(database.location() ?? '').size;
  };
  const before = bytes();
  database.exec('pragma auto_vacuum = incremental; vacuum');
  return { before, after: bytes() };
}

/**
 * Takes the copy out of WAL mode: it is then one file, and `beginCount` recognizes it as a copy. Returns the number of
 * rows in its ledger.
 */
function finishCopy(path: string, sqlite: SqliteDriver): number {
  const copy = sqlite.open(path);
  try {
    copy.exec('pragma journal_mode = delete');
    const [damage] = findDamage(copy, 'quick_check');
    if (damage !== undefined) throw new Error(`The copy is damaged, as the database is: ${damage}`);
    return Number(copy.prepare('select count(*) as rows from requests').get()?.['rows']);
  } finally {
    copy.close();
  }
}

/** Makes a file durable, or a folder's list of names: a new name is durable only when its folder has been synced. */
export function syncPath(path: string, files: Pick<Files, 'openSync' | 'fsyncSync' | 'closeSync'>): void {
  const handle = files.openSync(path, 'r');
  try {
    files.fsyncSync(handle);
  } finally {
    files.closeSync(handle);
  }
}

/** How many findings are returned: the first ones show where the damage is. */
const shownFindings = 20;
/** Primary result codes (https://sqlite.org/rescode.html) for a file whose content is wrong: CORRUPT, NOTADB. */
const damageCodes = new Set([11, 26]);

/**
 * Runs a check of SQLite's and returns its findings; none when the file is good. `quick_check` takes 3–4 s for each GB;
 * `integrity_check`, which also compares the indexes with their tables, takes 11 s. Throws when the file cannot be checked.
 */
export function findDamage(database: SqliteConnection, check: 'quick_check' | 'integrity_check'): readonly string[] {
  try {
    const rows = database.prepare(`pragma ${check}(${shownFindings})`).all();
    return rows.map((row) => String(row[check])).filter((finding) => finding !== 'ok');
  } catch (error) {
    // A file may be too damaged to be checked.
    if (error instanceof Error && isDamage(error)) return [error.message];
    throw error;
  }
}

export function isDamage(error: Error): boolean {
  return damageCodes.has(primaryCode(error) ?? 0);
}

/** The low byte of an extended result code is the primary one. */
export function primaryCode(error: Error): number | undefined {
  return 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}
