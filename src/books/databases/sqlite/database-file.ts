import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { refusal } from '../../core/operator-refusals.ts';
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
      if (files.existsSync(path)) throw refusal('file_exists', { file: path, what: 'a backup', option: '' });
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
 * Takes the copy out of WAL mode: it is then one file, and `findForeignWal` recognizes it as a copy. Returns the number of
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
function syncPath(path: string, files: Pick<Files, 'openSync' | 'fsyncSync' | 'closeSync'>): void {
  const handle = files.openSync(path, 'r');
  try {
    files.fsyncSync(handle);
  } finally {
    files.closeSync(handle);
  }
}

/** A WAL that is no larger than its header has no commit. */
const walHeaderBytes = 32;

/**
 * Why the WAL beside a database file cannot be its own; undefined if it can, or if there is none. Another process may be
 * creating the database at this moment: it writes the file before the WAL, so they are read in the reverse order.
 */
export function findForeignWal(file: string, files: Files): string | undefined {
  const bytesOf = (path: string): number => files.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytesOf(`${file}-wal`) <= walHeaderBytes) return undefined;
  const name = basename(file);
  if (bytesOf(file) === 0)
    return `${name} is missing or empty, and ${name}-wal contains commits that SQLite would delete`;
  return isCopy(file, files) ? `${name} is a copy, and ${name}-wal belongs to another database` : undefined;
}

/**
 * Whether a database file was never open in Weir, by bytes 18 and 19 of its header
 * (https://sqlite.org/fileformat.html#file_format_version_numbers): Weir uses WAL mode (2), and a copy that `weir backup`
 * made is not in it (1).
 */
function isCopy(file: string, files: Files): boolean {
  const header = Buffer.alloc(20);
  const handle = files.openSync(file, 'r');
  try {
    files.readSync(handle, header, 0, header.length, 0);
  } finally {
    files.closeSync(handle);
  }
  return header[18] === 1 && header[19] === 1;
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
