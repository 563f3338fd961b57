import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { dirname } from 'node:path';
import type { Files, SqliteConnection } from '../machine.ts';
import { syncPath } from './database-file.ts';

/**
 * How many transactions a database has committed. SQLite does not notice that its write-ahead log was removed, cut or
 * damaged: it opens with fewer commits, and its own checks say "ok". So every transaction increments a count in a
 * table. When the transaction is durable, the count is written to the mark, a small file beside the database. A
 * database with a lower count than its mark has lost commits.
 */
export interface CommitCount {
  /** Id of the history of commits; a restored copy begins a new one. */
  readonly lineage: string;
  readonly commits: bigint;
}

/** `unreadable`: the file exists, but Weir has not written its content. Undefined: there is no mark. */
export type Mark = CommitCount | 'unreadable' | undefined;

export const markPath = (file: string): string => `${file}-mark`;

// Every count has the same length, so that overwriting a mark in place never leaves a mixture of two.
const pattern = /^weir-commits ([0-9a-f-]{36}) (\d{20})\n$/;
const textOf = ({ lineage, commits }: CommitCount): string =>
  `weir-commits ${lineage} ${String(commits).padStart(20, '0')}\n`;

/** Reads the mark beside a database; undefined when there is none, or it is still empty. */
export function readMark(file: string, files: Pick<Files, 'readFileSync'>): Mark {
  let text: string;
  try {
    text = files.readFileSync(markPath(file), 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  if (text === '') return undefined;
  const [, lineage, commits] = pattern.exec(text) ?? [];
  return lineage === undefined || commits === undefined ? 'unreadable' : { lineage, commits: BigInt(commits) };
}

/** Reads the count in a database; undefined when the database is empty, or of a version that did not count. */
export function readCount(database: SqliteConnection): CommitCount | undefined {
  const table = database.prepare("select 1 from sqlite_master where type = 'table' and name = 'commit_count'").get();
  if (table === undefined) return undefined;
  return countOf(database.prepare('select lineage, commits from commit_count', { readBigInts: true }).get());
}

/**
 * Makes a database count its commits. Every database that was opened before is in WAL mode. So a database in another
 * mode is new or a restored copy, and it begins a lineage of its own, before there is any WAL to lose.
 */
export function beginCount(database: SqliteConnection): void {
  if (isInWalMode(database) && readCount(database) !== undefined) return;
  database.exec('begin immediate');
  try {
    database.exec(
      `create table if not exists commit_count (
        id integer primary key check (id = 1), lineage text not null, commits integer not null
      )`,
    );
    // Another process may have done this already.
    if (readCount(database) === undefined) {
      database.prepare('insert into commit_count values (1, ?, 0)').run(randomUUID());
    } else if (!isInWalMode(database)) database.prepare('update commit_count set lineage = ?').run(randomUUID());
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

/** Counts the commits of one connection. */
export interface CommitCounter {
  /** Counts the transaction that is about to commit, inside it. */
  readonly count: () => void;
  /** Writes the mark, now that the counted transaction is durable. */
  readonly committed: () => void;
  readonly close: () => void;
}

/**
 * Keeps the mark of an open database. Only durable counts are written, so the mark is never ahead of the database. The
 * mark is not synced with each commit: it survives the death of the process, but may be behind after a power cut.
 */
export function keepMark(file: string, database: SqliteConnection, files: Files): CommitCounter {
  const handle = files.openSync(markPath(file), constants.O_RDWR | constants.O_CREAT, 0o600);
  const counting = database.prepare('update commit_count set commits = commits + 1 returning lineage, commits', {
    readBigInts: true,
  });
  let counted: CommitCount | undefined;
  const write = (count: CommitCount): void => void files.writeSync(handle, textOf(count), 0, 'latin1');
  try {
    const count = readCount(database);
    if (count !== undefined) write(count);
    // The mark gets the owner of the database, like SQLite's own files: a command run by root must not lock the service out.
    if (process.geteuid?.() === 0) {
      const { uid, gid } = files.statSync(file);
      files.fchownSync(handle, uid, gid);
    }
    files.fsyncSync(handle);
    syncPath(dirname(file), files);
  } catch (error) {
    files.closeSync(handle);
    throw error;
  }
  return {
    count: () => {
      counted = countOf(counting.get());
    },
    committed: () => {
      if (counted === undefined) return;
      try {
        write(counted);
      } catch {
        // The rows are durable, so an error here is ignored. A mark that is behind only detects fewer lost commits.
      }
      counted = undefined;
    },
    close: () => {
      try {
        files.fdatasyncSync(handle);
      } catch {
        // A mark that is behind does no harm.
      } finally {
        files.closeSync(handle);
      }
    },
  };
}

function isInWalMode(database: SqliteConnection): boolean {
  return database.prepare('pragma journal_mode').get()?.['journal_mode'] === 'wal';
}

function countOf(row: Record<string, unknown> | undefined): CommitCount | undefined {
  const lineage = row?.['lineage'];
  const commits = row?.['commits'];
  return typeof lineage === 'string' && typeof commits === 'bigint' ? { lineage, commits } : undefined;
}
