import type { Credential, DatabaseState, Outcome } from '../../core/account.ts';
import type { DependencyCause } from '../../core/dependency-cause.ts';
import type { DatabaseLocation, WorkspaceCost } from '../databases/database.ts';
import type { RefusalRow } from '../core/refusal.ts';
import type { Reserved } from '../accounts/reservation-report.ts';
import type { Settled, Spending } from '../ledger/settle-batch.ts';

/** The first message to the store's thread: what it opens. */
export interface StoreWorkerData {
  readonly location: DatabaseLocation;
  /** A folder that no other process uses. */
  readonly journalFolder: string;
  readonly journalBytes: number;
  readonly retentionDays: number;
}

/** A message from the service's thread to the store's thread. One batch is under way at a time. */
export type StoreRequest =
  | { readonly kind: 'settle'; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'find'; readonly hashes: readonly string[] }
  /** Remembered keys, while the database is not up: read as soon as it answers, because some may have been stopped. */
  | { readonly kind: 'find-again'; readonly hashes: readonly string[] }
  /** The reservations of the service's requests, for commands that correct a balance. */
  | { readonly kind: 'reserved'; readonly reserved: Reserved }
  /** Counts of refused requests. Sent while the database is up. */
  | { readonly kind: 'refused'; readonly rows: readonly RefusalRow[] }
  /** Sent after a while without queries: checks that the database answers. */
  | { readonly kind: 'look' }
  | { readonly kind: 'close' };

/** Why one outcome of a batch was not written: the database refuses it for good, or there was no room in the journal. */
export interface SettleFault {
  /** Index into the batch. */
  readonly index: number;
  readonly reason: 'refused' | 'no-room';
  readonly message: string;
}

/** The state of the database and of the journal. */
export interface StoreStatus {
  readonly database: DatabaseState;
  /** Size of the rows that are in the journal. */
  readonly journalBytes: number;
  /** Why the journal cannot be written, while the database is not up. */
  readonly journalFault: string | undefined;
  /** Whether the journal can be written and has room for the rows of more requests. */
  readonly hasRoom: boolean;
  /** Why the last attempt to reach the database failed. Undefined unless it is down. */
  readonly reason: string | undefined;
  /** The cause of that failure, unless it was the journal's. */
  readonly cause?: DependencyCause | undefined;
  /** An error, for the log. Reported once. */
  readonly message?: string;
}

/** A message from the store's thread. Messages are in the order in which the thread read and wrote the database. */
export type StoreReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly message: string }
  /**
   * The secret that all processes with this database share. Sent once, when the database has answered for the first
   * time. Never to be logged.
   */
  | { readonly kind: 'secret'; readonly secret: string }
  | (Settled & { readonly kind: 'settled'; readonly faults: readonly SettleFault[] })
  /** The rows are durable in the journal. Balances read from the database do not include their cost until they are replayed. */
  | {
      readonly kind: 'journaled';
      readonly costs: readonly WorkspaceCost[];
      readonly spendings: readonly Spending[];
      readonly faults: readonly SettleFault[];
    }
  | {
      readonly kind: 'found';
      readonly found: readonly (readonly [hash: string, Credential | undefined])[];
      /** The database lacks the costs of rows in the journal, so its balances are too high. */
      readonly isBehind?: true;
    }
  | { readonly kind: 'not-searched'; readonly hashes: readonly string[]; readonly message: string }
  /** Another process has changed accounts: what was read before may be stale. */
  | { readonly kind: 'changed' }
  /** What was read before is still valid. */
  | { readonly kind: 'confirmed' }
  | { readonly kind: 'status'; readonly status: StoreStatus }
  /** A round of upkeep has ended: no request past its retention is left, or a step failed. */
  | { readonly kind: 'upkeep'; readonly result: 'done' | 'failed' };
