import { basename, dirname } from 'node:path';
import { type Files, type Machine, thisMachine } from '../machine.ts';
import { type Mark, markPath, readCount, readMark } from './commit-mark.ts';

type FileMachine = Pick<Machine, 'files' | 'sqlite'>;

/** Commits that a database had and has lost. */
export interface Loss {
  /** What is wrong: the beginning of a sentence. */
  readonly what: string;
  /** The files that prove the loss, or that do not belong to this database. */
  readonly evidence: readonly string[];
}

export interface AcceptedLoss {
  readonly loss: Loss;
  /** The new paths of the files that proved the loss. */
  readonly setAside: readonly string[];
}

/** Size of a WAL's header: a WAL that is no larger holds no commit. */
const walHeaderBytes = 32;
const waitMs = 5_000;

/**
 * Looks for lost commits, and changes nothing. Another process may be creating the database at this moment. It writes
 * the file, then the WAL, then the mark, so they are read in the reverse order.
 */
export function findLoss(file: string, machine: FileMachine): Loss | undefined {
  const { files } = machine;
  const [wal, shm] = [`${file}-wal`, `${file}-shm`];
  const mark = readMark(file, files);
  const hasWal = bytesOf(wal, files) > walHeaderBytes;
  const state = stateOf(file, files);
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
  const what =
    state === 'empty' ? `${name} is missing or empty` : state === 'copy' ? undefined : shortfall(file, mark, machine);
  if (what === undefined) return undefined;
  return {
    what: `${what}, and ${name}-mark beside it counts ${mark.commits} commits: the file or its WAL (${name}-wal) was lost, cut or replaced by an older one`,
    evidence: [markPath(file)],
  };
}

/** Describes a loss, and what an operator can do about it. */
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
 * Accepts a loss: renames the files that prove it, so that the database can be opened without the lost commits. The new
 * names contain the time. Returns undefined if nothing was lost.
 */
export function acceptLoss(file: string, now: Date, machine: FileMachine = thisMachine): AcceptedLoss | undefined {
  const { files } = machine;
  const loss = findLoss(file, machine);
  if (loss === undefined) return undefined;
  const suffix = `.set-aside-${now.toISOString().replaceAll(/[:.]/g, '-')}`;
  const setAside: string[] = [];
  for (const path of loss.evidence) {
    if (!files.existsSync(path)) continue;
    files.renameSync(path, path + suffix);
    setAside.push(path + suffix);
  }
  return { loss, setAside };
}

/**
 * The state of a database file, by bytes 18 and 19 of its header (https://sqlite.org/fileformat.html#file_format_version_numbers):
 * a database that Weir has opened is in WAL mode (2), a copy that `weir backup` made is not (1).
 */
function stateOf(file: string, files: Files): 'empty' | 'copy' | 'used' {
  if (bytesOf(file, files) === 0) return 'empty';
  const header = Buffer.alloc(20);
  const handle = files.openSync(file, 'r');
  try {
    files.readSync(handle, header, 0, header.length, 0);
  } finally {
    files.closeSync(handle);
  }
  return header[18] === 1 && header[19] === 1 ? 'copy' : 'used';
}

/**
 * Describes how far a database is behind its mark. Undefined if it is not. The connection is read-only, because any
 * other connection would clean up the WAL.
 */
function shortfall(
  file: string,
  mark: Exclude<Mark, 'unreadable' | undefined>,
  { sqlite }: FileMachine,
): string | undefined {
  const database = sqlite.open(file, { readOnly: true, timeout: waitMs });
  try {
    const count = readCount(database);
    if (count === undefined) return `${basename(file)} holds no count of its commits`;
    // Another lineage means that an operator put another ledger here on purpose.
    if (count.lineage !== mark.lineage || count.commits >= mark.commits) return undefined;
    return `${basename(file)} holds ${count.commits} commits`;
  } finally {
    database.close();
  }
}

function bytesOf(path: string, files: Files): number {
  return files.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
