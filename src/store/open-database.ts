import type { Kysely } from 'kysely';
import { messageOf } from '../core/failure.ts';
import { type DatabaseLocation, describeLocation } from './database-location.ts';
import type { LedgerWrites } from './ledger-writes.ts';
import type { Schema } from './schema.ts';

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
      return (await import('./open-sqlite.ts')).openSqlite(location, options);
    case 'postgres':
      // Loaded only by those who use it.
      return (await import('./open-postgres.ts')).openPostgres(location, options);
  }
}

function reason(cause: unknown): string {
  const message = cause instanceof AggregateError ? String(cause.errors[0]) : messageOf(cause);
  return message.replace(/^Error: /, '').replace(/\.$/, '');
}
