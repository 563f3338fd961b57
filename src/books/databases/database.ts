import type { DatabaseConnection, Kysely } from 'kysely';
import { messageOf } from '../../core/failure.ts';
import type { Money } from '../../core/money.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { refusal } from '../core/operator-refusals.ts';
import { urlPerHost } from './postgres-hosts.ts';
import type { Schema, SpendingTable } from './schema.ts';
import type { LedgerEntry } from '../ledger/stored-request.ts';
import type { NotedRequests } from '../outbox/note-events.ts';
import type { UsageSums, UsageTable } from '../ledger/usage-rollup.ts';

/** Where the accounts and the ledger are. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; /** Path of the file. */ readonly file: string }
  | { readonly kind: 'postgres'; /** May contain a password. Never show it. */ readonly url: string };

/** Names a database in a sentence, without the secrets in its URL. */
function describeLocation(location: DatabaseLocation): string {
  if (location.kind === 'sqlite') return `the database at ${location.file}`;
  const urls = urlPerHost(location.url).map((one) => URL.parse(one));
  const places = urls.flatMap((url) => {
    const host = url?.searchParams.get('host') ?? url?.hostname ?? '';
    return host === '' ? [] : [`${decodeURIComponent(host)}${url?.port ? `:${url.port}` : ''}`];
  });
  const name = decodeURIComponent(urls[0]?.pathname.slice(1) ?? '');
  return `the PostgreSQL database ${name}${places.length === 0 ? '' : ` at ${places.join(', ')}`}`.trimEnd();
}

/**
 * The meaning of a database error for its statement. `refused`: the statement can never succeed (a constraint, an
 * invalid value). `again`: it will succeed if it is tried again at once (two transactions in conflict). `down`: the
 * database cannot be reached and the outcome is unknown, so the rows must be kept. Every unknown error is `down`, so
 * that no row is given up by mistake.
 */
export type DatabaseErrorKind = 'refused' | 'again' | 'down';

/** After a step there may be more to do at once, or nothing for a while. */
export type UpkeepStep = 'more' | 'done';

/**
 * The upkeep of the ledger beside settling, in small steps without end: requests past their retention are deleted after
 * a proof that the rollups count them. Upkeep can end after any step; the next process continues it.
 */
export type Upkeep = AsyncGenerator<UpkeepStep, never>;

export interface UpkeepOptions {
  /** Requests are kept for at least this many days; 0: without end. */
  readonly retentionDays: number;
  readonly now: () => number;
  /** Logs an error for an operator. */
  readonly report: (message: string) => void;
}

/** An open database, SQLite or PostgreSQL: the query layer that both share, and the functions in which they differ. */
export interface OpenDatabase {
  readonly queries: Kysely<Schema>;
  readonly writes: LedgerWrites;
  /**
   * Prepares rows before the transaction that writes them: finds the numbers of their names, and makes the partitions
   * that are missing, if the database has partitions. Throws a RangeError for a row that can never be written.
   */
  readonly prepare: (requests: readonly SettledRequest[]) => Promise<readonly LedgerEntry[]>;
  readonly classify: (error: unknown) => DatabaseErrorKind;
  /** Resolves when the database answers and can be written, rejects when not, within seconds either way. */
  readonly probe: () => Promise<void>;
  /**
   * Calls `changed` within a second after another process has changed accounts, if the database reports changes. SQLite
   * always does. It also calls `confirmed` several times a second while nothing has changed, once a second while `isQuiet`.
   */
  readonly watch: (calls: {
    readonly changed: () => void;
    readonly confirmed: () => void;
    /** Whether nothing is asked of the store. Default: never. */
    readonly isQuiet?: () => boolean;
  }) => {
    /** Call when the quiet ends: looks at once. Absent: the database reports changes by itself. */
    readonly wake?: () => void;
    readonly stop: () => Promise<void>;
  };
  /**
   * Begins the upkeep of the ledger. `between`: run its steps while the database has nothing else to do. `beside`:
   * upkeep has its own connection. After a step has rejected, begin upkeep again.
   */
  readonly beginUpkeep: (options: UpkeepOptions) => {
    readonly place: 'between' | 'beside';
    readonly steps: Upkeep;
    /** Ends the upkeep. Also ends a step that is under way on a connection of its own. */
    readonly stop: () => Promise<void>;
  };
  /**
   * Announces to other processes that accounts were changed here. Does nothing if the other processes see the change by
   * themselves.
   */
  readonly announce: () => Promise<void>;
  /** The operations on a database file; undefined where a server keeps the data. */
  readonly file: DatabaseFile | undefined;
  readonly close: () => Promise<void>;
}

export interface DatabaseFile {
  /**
   * Rewrites the file without its free pages. From then on it shrinks by itself. Takes about 10 s for each GB; other
   * programs cannot write meanwhile. Returns its size before and after, bytes.
   */
  readonly shrink: () => { readonly before: number; readonly after: number };
  /** The damage, in SQLite's words; empty if there is none. Reads everything: about 11 s for each GB. */
  readonly findDamage: () => readonly string[];
  /**
   * Makes a copy as of one moment, also while other programs write. The copy has every row that was durable before the
   * call. Returns the number of rows in its ledger. Rejects if a file of this name exists, or if the copy is damaged; a
   * damaged copy is deleted.
   */
  readonly copyTo: (path: string) => Promise<{ readonly rows: number }>;
}

export interface OpenOptions {
  /** Whether a missing SQLite file (and its folder) is made, readable by its owner alone, or refused. A PostgreSQL database has to exist. */
  readonly missing: 'create' | 'refuse';
  /** A service gives up soon on a slow database, because it has a journal; an operator's command waits longer. */
  readonly user: 'service' | 'operator';
}

/** A database cannot be opened. The message is a sentence that names the database. */
export class CannotOpen extends Error {
  readonly code = 'database_not_opened';
  /** `down`: opening it may succeed in a moment. */
  readonly kind: DatabaseErrorKind;

  constructor(location: DatabaseLocation, cause: unknown, kind: DatabaseErrorKind) {
    const parts = { database: describeLocation(location), reason: reason(cause) };
    super(refusal('database_not_opened', parts).message, { cause });
    this.name = 'CannotOpen';
    this.kind = kind;
  }
}

/**
 * A transaction failed at its commit, and the database may have committed it nevertheless: the answer was lost, or the
 * disk failed while the commit was written. After any other error nothing of a transaction is kept.
 */
export class CommitInDoubt extends Error {
  constructor(cause: unknown) {
    super(`the outcome of a commit is unknown: ${messageOf(cause)}`, { cause });
    this.name = 'CommitInDoubt';
  }
}

function reason(cause: unknown): string {
  const message = cause instanceof AggregateError ? String(cause.errors[0]) : messageOf(cause);
  return message.replace(/^Error: /, '').replace(/\.$/, '');
}

export type WorkspaceCost = readonly [workspaceId: string, cost: Money];

/**
 * The statements of a settlement for one database, in its fastest form: they run thousands of times a second. All run
 * inside one transaction, in this order, and each writes its rows in the order of their keys. So two processes that
 * settle at the same time cannot deadlock.
 */
export interface LedgerWrites {
  /**
   * Whether the database itself refuses a request from a time whose requests have been deleted. PostgreSQL does: it has
   * no partition for that time. Otherwise `settleBatch` checks each time.
   */
  readonly refuseDropped: boolean;
  /** Writes the requests whose id is new, and returns the written ones. No two requests of a call may have the same id. */
  readonly insertRequests: (
    connection: DatabaseConnection,
    entries: readonly LedgerEntry[],
  ) => Promise<readonly LedgerEntry[]>;
  /** Subtracts the costs from the balances. Returns the new balances of the workspaces that exist. */
  readonly charge: (
    connection: DatabaseConnection,
    costs: readonly WorkspaceCost[],
  ) => Promise<readonly { readonly id: string; readonly balance: Money }[]>;
  /**
   * Adds to the spending of keys by day, and notes the requests in the outbox for each subscription that wants them, in the
   * same statement where a statement is a round trip. The workspaces are locked by now, so the rows of the outbox are in
   * the order in which the settlements of a workspace are committed.
   */
  readonly addSpending: (
    connection: DatabaseConnection,
    spending: readonly SpendingTable[],
    noted: { readonly rows: readonly NotedRequests[]; /** When they were settled. */ readonly at: number },
  ) => Promise<void>;
  /** Adds to a table of rollups. The rows are in the order of its primary key. */
  readonly addUsage: (connection: DatabaseConnection, table: UsageTable, usage: readonly UsageSums[]) => Promise<void>;
}
