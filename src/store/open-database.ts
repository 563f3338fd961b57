import type { DatabaseConnection, Kysely } from 'kysely';
import { messageOf } from '../core/failure.ts';
import type { LedgerTable, Schema, SpendingTable } from './schema.ts';
import type { Money } from '../core/money.ts';

/** Where the accounts and the ledger are. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; /** Path of the file. */ readonly file: string }
  | { readonly kind: 'postgres'; /** With its password, where it has one: never to be shown. */ readonly url: string };

/** Names a database in a sentence, without what is secret in its URL. */
function describeLocation(location: DatabaseLocation): string {
  if (location.kind === 'sqlite') return `the database at ${location.file}`;
  const url = URL.parse(location.url);
  const host = url?.searchParams.get('host') ?? url?.hostname ?? '';
  const place = host === '' ? '' : ` at ${decodeURIComponent(host)}${url?.port ? `:${url.port}` : ''}`;
  return `the PostgreSQL database ${decodeURIComponent(url?.pathname.slice(1) ?? '')}${place}`.trimEnd();
}

/**
 * What an error of the database means for the statement that it answers. `refused`: the statement can never succeed (a
 * constraint, an invalid value). `again`: it will succeed when it is tried again at once (two transactions in conflict).
 * `away`: the database cannot be reached and the outcome is unknown, so what is to be written has to be kept. Every unknown
 * error is `away`, so that no row is ever given up by mistake.
 */
export type DatabaseErrorKind = 'refused' | 'again' | 'away';

/** An open database, SQLite or PostgreSQL: one query layer over both, and here what differs between them. */
export interface OpenDatabase {
  readonly queries: Kysely<Schema>;
  readonly writes: LedgerWrites;
  readonly classify: (error: unknown) => DatabaseErrorKind;
  /** Resolves when the database answers and can be written, rejects when not. Soon, either way. */
  readonly probe: () => Promise<void>;
  /**
   * Calls `changed` within a second of a change to accounts by another process, as far as it can be told: `confirmed` is
   * called instead, several times a second, where it is known that nothing has changed.
   */
  readonly watch: (calls: { readonly changed: () => void; readonly confirmed: () => void }) => {
    readonly stop: () => Promise<void>;
  };
  /** Tells the other processes that accounts were changed here, where they would not see it at once by themselves. */
  readonly announce: () => Promise<void>;
  /** What can be done with a database that is a file; undefined where a server keeps it. */
  readonly file: DatabaseFile | undefined;
  readonly close: () => Promise<void>;
}

export interface DatabaseFile {
  /** What is damaged, in SQLite's words; empty when nothing is. Reads everything: about 11 s for each GB. */
  readonly findDamage: () => readonly string[];
  /**
   * Makes a copy as of one moment, beside programs that write: every row that was durable when it was called is in it. Gives how
   * many rows its ledger has. Rejects when there is a file of this name, and when the copy is damaged; nothing is left then.
   */
  readonly copyTo: (path: string) => Promise<{ readonly rows: number }>;
}

export interface OpenOptions {
  /** Whether a missing SQLite file (and its folder) is made, readable by its owner alone, or refused. A PostgreSQL database has to be there. */
  readonly missing: 'create' | 'refuse';
  /** A service gives up on a database that keeps it waiting, having a journal; what an operator asks may take its time. */
  readonly user: 'service' | 'operator';
}

/** A database that cannot be opened. The message is a sentence that names it. */
export class CannotOpen extends Error {
  /** `away`: it may be there in a moment. */
  readonly kind: DatabaseErrorKind;

  constructor(location: DatabaseLocation, cause: unknown, kind: DatabaseErrorKind) {
    super(`Cannot open ${describeLocation(location)}: ${reason(cause)}.`, { cause });
    this.name = 'CannotOpen';
    this.kind = kind;
  }
}

/** Opens the accounts and the ledger and brings their tables up to date. Rejects with `CannotOpen`. */
export async function openDatabase(location: DatabaseLocation, options: OpenOptions): Promise<OpenDatabase> {
  switch (location.kind) {
    case 'sqlite':
      return (await import('./sqlite/open.ts')).openSqlite(location, options);
    case 'postgres':
      // Loaded only by those who use it.
      return (await import('./postgres/open.ts')).openPostgres(location, options);
  }
}

function reason(cause: unknown): string {
  const message = cause instanceof AggregateError ? String(cause.errors[0]) : messageOf(cause);
  return message.replace(/^Error: /, '').replace(/\.$/, '');
}

/** What a row that was written costs, and whom. */
export type WrittenRow = Pick<LedgerTable, 'request_id' | 'workspace_id' | 'key_id' | 'cost' | 'started_at'>;

export type WorkspaceCost = readonly [workspaceId: string, cost: Money];

/**
 * The statements of a settlement, in the words of one database: they are run thousands of times a second, so each
 * database has them in the form in which it is fast. All run inside one transaction, in this order, and each takes its
 * rows in the order of their keys: two processes that settle at once can wait for each other, but never in a circle.
 */
export interface LedgerWrites {
  /** Writes the rows that are not there yet and gives those; a request id that is there, or comes twice, is written once. */
  readonly insertRows: (connection: DatabaseConnection, rows: readonly LedgerTable[]) => Promise<readonly WrittenRow[]>;
  /** Takes the costs from the balances and gives the balances of the workspaces there are. */
  readonly charge: (
    connection: DatabaseConnection,
    costs: readonly WorkspaceCost[],
  ) => Promise<readonly { readonly id: string; readonly balance: Money }[]>;
  /** Adds to what keys have spent by day. */
  readonly addSpending: (connection: DatabaseConnection, spending: readonly SpendingTable[]) => Promise<void>;
}
