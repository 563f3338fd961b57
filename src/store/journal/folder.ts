import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Something only one process on the machine may hold, and a process that is killed lets go of. */
export interface Held {
  readonly release: () => void;
}

/** Takes what only one may hold, or gives undefined while another process has it. */
export type TryLock = (path: string) => Held | undefined;

const maxProcesses = 1_000;

/** A process's folder, and the files of rows in it: as they are named by us. Everything else is somebody else's. */
const folderName = /^(0|[1-9]\d{0,2})$/;
const rowsName = /^\d{15}-\d{6,}-[0-9a-f]{8}\.journal$/;
/** What else we put there: the lock, which is a database of SQLite's, and files kept for whoever wants to know why. */
const otherName = /^lock(-journal|-wal|-shm)?$|^\d{15}-\d{6,}-[0-9a-f]{8}\.(refused|damaged)$/;

export interface JournalFolder extends Held {
  readonly folder: string;
  /** Paths that are not ours, such as an editor's or a file manager's: they are left alone. */
  readonly strays: readonly string[];
}

/**
 * Takes a folder of the journal for this process alone: several may share a data folder. What a process that is gone has left
 * in a folder that nobody holds is moved to ours. Throws when the folders cannot be made.
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
    return { folder, strays: straysIn(root), release: lock.release };
  }
  throw new Error(`no free folder in ${root}`);
}

/** The names of the files of rows in a folder. */
export function rowFilesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && rowsName.test(entry.name))
    .map(({ name }) => name);
}

function processFoldersIn(root: string): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && folderName.test(entry.name))
    .map(({ name }) => name);
}

function straysIn(root: string): readonly string[] {
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
