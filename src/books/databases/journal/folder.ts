import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Files, thisMachine } from '../machine.ts';

/** A lock that only one process on the machine can hold; it ends when that process is killed. */
export interface FolderLock {
  readonly release: () => void;
}

/** Locks a path. Undefined while another process has the lock. */
export type TryLock = (path: string) => FolderLock | undefined;

const maxProcesses = 1_000;

/** The names that Weir gives to a process's folder, and to the files of rows in it. */
const folderName = /^(0|[1-9]\d{0,2})$/;
const rowsName = /^\d{15}-\d{6,}-[0-9a-f]{8}\.journal$/;
/** Name of the file that is written after a fault, to find out whether the disk accepts rows again. */
export const trialName = 'trial';
/** Names of other files that Weir makes there: the lock, which is a database of SQLite, a trial, and files kept for inspection. */
const otherName = /^lock(-journal|-wal|-shm)?$|^trial$|^\d{15}-\d{6,}-[0-9a-f]{8}\.(refused|damaged)$/;

export interface JournalFolder extends FolderLock {
  readonly folder: string;
  /** Paths that Weir has not made, such as an editor's or a file manager's: they are left alone. */
  readonly foreignFiles: readonly string[];
}

/**
 * Locks a folder of the journal for this process alone, because several processes may share a data folder. Files in
 * folders that no process has locked were left by ended processes, and are moved to this folder. Throws when the
 * folders cannot be made.
 */
export function takeJournalFolder(root: string, tryLock: TryLock): JournalFolder {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  for (let number = 0; number < maxProcesses; number += 1) {
    const folder = join(root, String(number));
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) continue;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lock = tryLock(join(folder, 'lock'));
    if (lock === undefined) continue;
    adopt(root, { own: String(number), tryLock });
    return { folder, foreignFiles: foreignFilesIn(root), release: lock.release };
  }
  throw new Error(`no free folder in ${root}`);
}

/** The names of the files of rows in a folder. */
export function rowFilesIn(folder: string, files: Pick<Files, 'readdirSync'> = thisMachine.files): readonly string[] {
  return files
    .readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && rowsName.test(entry.name))
    .map(({ name }) => name);
}

function processFoldersIn(root: string): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && folderName.test(entry.name))
    .map(({ name }) => name);
}

function foreignFilesIn(root: string): readonly string[] {
  const folders = processFoldersIn(root);
  const above = readdirSync(root).filter((name) => !folders.includes(name));
  const within = folders.flatMap((number) => {
    const rows = rowFilesIn(join(root, number));
    return readdirSync(join(root, number))
      .filter((name) => !rows.includes(name) && !otherName.test(name))
      .map((name) => join(number, name));
  });
  return [...above, ...within].map((path) => join(root, path));
}

function adopt(root: string, { own, tryLock }: { readonly own: string; readonly tryLock: TryLock }): void {
  for (const number of processFoldersIn(root)) {
    if (number === own) continue;
    const lock = tryLock(join(root, number, 'lock'));
    if (lock === undefined) continue;
    try {
      for (const name of rowFilesIn(join(root, number))) renameSync(join(root, number, name), join(root, own, name));
    } finally {
      lock.release();
    }
  }
}
