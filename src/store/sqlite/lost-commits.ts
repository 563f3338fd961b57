import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Mark, markPath, readCount, readMark } from './commit-mark.ts';

/** Commits that a database had and has no longer. */
export interface Loss {
  /** What is wrong: the beginning of a sentence. */
  readonly what: string;
  /** The files that say so, or that do not belong to this database. */
  readonly evidence: readonly string[];
}

/** What is before the first page of a WAL: one that holds no more holds no commit. */
const walHeaderBytes = 32;
const waitMs = 5_000;

/**
 * Looks for commits that were lost, and changes nothing. What is looked at first was written last: another process may be making
 * the database at this moment, and of a commit the mark comes after the WAL and the WAL after the file.
 */
export function findLoss(file: string): Loss | undefined {
  const [wal, shm] = [`${file}-wal`, `${file}-shm`];
  const mark = readMark(file);
  const hasWal = bytesOf(wal) > walHeaderBytes;
  const state = stateOf(file);
  const name = basename(file);

  if (state === 'empty' && hasWal) {
    const what = `${name} is missing or empty, and ${name}-wal beside it holds commits that SQLite would delete`;
    return { what, evidence: [wal, shm, markPath(file)] };
  }
  if (state === 'copy' && hasWal) {
    const what = `${name} is a copy that was put here, and ${name}-wal beside it belongs to another database`;
    return { what, evidence: [wal, shm] };
  }
  if (mark === undefined) return undefined;
  if (mark === 'unreadable') {
    return { what: `${name}-mark beside it cannot be read`, evidence: [markPath(file)] };
  }
  const what = state === 'empty' ? `${name} is missing or empty` : state === 'copy' ? undefined : lag(file, mark);
  if (what === undefined) return undefined;
  return {
    what: `${what}, and ${name}-mark beside it tells of ${mark.commits} commits: the file or its WAL (${name}-wal) was lost, cut or replaced by an older one`,
    evidence: [markPath(file)],
  };
}

/** Says what an operator can do about a loss. */
export function describeLoss(file: string, { what }: Loss): string {
  const accept =
    basename(file) === 'weir.db'
      ? `weir ledger accept-loss --data ${dirname(file)}`
      : `WEIR_DATABASE_URL=sqlite:${file} weir ledger accept-loss`;
  return (
    `${what}. Nothing was changed. Put the files that belong together back, or restore a backup (docs/accounts.md, ` +
    `"Backup and restore"); to go on without what was lost, run \`${accept}\``
  );
}

/**
 * Goes on without what was lost: sets the files aside that tell of it, under names that say when. Gives the new names; undefined
 * when nothing is lost.
 */
export function acceptLoss(
  file: string,
  now: Date,
): { readonly loss: Loss; readonly setAside: readonly string[] } | undefined {
  const loss = findLoss(file);
  if (loss === undefined) return undefined;
  const suffix = `.set-aside-${now.toISOString().replaceAll(/[:.]/g, '-')}`;
  const setAside: string[] = [];
  for (const path of loss.evidence) {
    if (!existsSync(path)) continue;
    renameSync(path, path + suffix);
    setAside.push(path + suffix);
  }
  return { loss, setAside };
}

/**
 * By bytes 18 and 19 of the header (https://sqlite.org/fileformat.html#file_format_version_numbers): a database that Weir has
 * opened is in WAL mode, 2, and a copy of `weir backup` is not, 1.
 */
function stateOf(file: string): 'empty' | 'copy' | 'used' {
  if (bytesOf(file) === 0) return 'empty';
  const header = Buffer.alloc(20);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, header, 0, header.length, 0);
  } finally {
    closeSync(handle);
  }
  return header[18] === 1 && header[19] === 1 ? 'copy' : 'used';
}

/** What a database lacks of what its mark says. The connection is read-only: another one would clean up the WAL behind it. */
function lag(file: string, mark: Exclude<Mark, 'unreadable' | undefined>): string | undefined {
  const database = new DatabaseSync(file, { readOnly: true, timeout: waitMs });
  try {
    const count = readCount(database);
    if (count === undefined) return `${basename(file)} holds no count of its commits`;
    // Of another lineage: a ledger that was put here on purpose.
    if (count.lineage !== mark.lineage || count.commits >= mark.commits) return undefined;
    return `${basename(file)} holds ${count.commits} commits`;
  } finally {
    database.close();
  }
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
