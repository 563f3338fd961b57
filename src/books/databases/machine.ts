import * as fs from 'node:fs';
import { backup, DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import type { Clock } from '../../core/clock.ts';
import type { PostgresConnections } from './postgres/connections.ts';

/**
 * The parts of a machine that the store uses. A simulation replaces them: its time is virtual, and its disk loses
 * writes that were not synced.
 */
export interface Machine {
  readonly time: StoreTime;
  readonly files: Files;
  readonly sqlite: SqliteDriver;
  /** Connects to the server at a URL. Absent: over the network. */
  readonly postgres?: ((url: string) => PostgresConnections) | undefined;
}

export interface StoreTime extends Clock {
  /** Runs a function after the messages that have arrived were handled. */
  readonly nextTurn: (run: () => void) => void;
}

/** The functions of `node:fs` that the store calls. */
export type Files = Pick<
  typeof fs,
  | 'chmodSync'
  | 'closeSync'
  | 'existsSync'
  | 'fdatasyncSync'
  | 'fsyncSync'
  | 'ftruncateSync'
  | 'mkdirSync'
  | 'openSync'
  | 'readdirSync'
  | 'readFileSync'
  | 'readSync'
  | 'renameSync'
  | 'statSync'
  | 'unlinkSync'
  | 'writeFileSync'
  | 'writeSync'
>;

type SqliteRow = Record<string, SQLOutputValue>;

/** A prepared statement, as `node:sqlite` has it. */
export interface SqliteStatement {
  readonly all: (...values: SQLInputValue[]) => SqliteRow[];
  readonly get: (...values: SQLInputValue[]) => SqliteRow | undefined;
  readonly run: (...values: SQLInputValue[]) => { readonly changes: number | bigint };
  readonly iterate: (...values: SQLInputValue[]) => Iterable<SqliteRow>;
  readonly columns: () => readonly unknown[];
}

/** A connection to a database file, as `node:sqlite` has it. Errors have SQLite's result code in `errcode`. */
export interface SqliteConnection {
  readonly exec: (sql: string) => void;
  readonly prepare: (sql: string, options?: { readonly readBigInts?: boolean }) => SqliteStatement;
  readonly isTransaction: boolean;
  readonly location: () => string | null;
  readonly close: () => void;
}

export interface SqliteOptions {
  readonly readOnly?: boolean;
  /** How long a statement waits for a lock, milliseconds. */
  readonly timeout?: number;
  readonly enableForeignKeyConstraints?: boolean;
}

export interface SqliteDriver {
  readonly open: (file: string, options?: SqliteOptions) => SqliteConnection;
  /** Copies a database into a new file, as of one moment. */
  readonly backUp: (connection: SqliteConnection, path: string) => Promise<void>;
}

/**
 * All pages are copied in one step. A copy in several steps starts again with each commit of another connection, so
 * beside a busy service it would never end. In WAL mode a reader does not block writers.
 */
const allPages = 2 ** 31 - 1;

const nodeSqlite: SqliteDriver = {
  open: (file, options = {}) => new DatabaseSync(file, options),
  backUp: async (connection, path) => {
    if (!(connection instanceof DatabaseSync)) throw new TypeError('not a connection of node:sqlite');
    await backup(connection, path, { rate: allPages });
  },
};

const realTime: StoreTime = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  nextTurn: (run) => void setImmediate(run),
};

/** The machine on which this process runs. */
export const thisMachine: Machine = { time: realTime, files: fs, sqlite: nodeSqlite };
