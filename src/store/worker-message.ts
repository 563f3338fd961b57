import type { Credential, Outcome } from '../core/account.ts';
import type { DatabaseLocation, WorkspaceCost } from './open-database.ts';
import type { Settled, Spending } from './settle-batch.ts';

/** What the store's thread is started with. */
export interface StoreWorkerData {
  readonly location: DatabaseLocation;
  /** Of this process alone. */
  readonly journalFolder: string;
  readonly journalBytes: number;
}

/** What the service's thread asks of the store's thread. One batch is under way at a time. */
export type StoreRequest =
  | { readonly kind: 'settle'; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'find'; readonly hashes: readonly string[] }
  | { readonly kind: 'close' };

/** Why one outcome of a batch was not written: it can never be, or there was no room for it anywhere. */
export interface SettleFault {
  /** Index into the batch. */
  readonly index: number;
  readonly reason: 'refused' | 'no-room';
  readonly message: string;
}

/** How the store fares. */
export interface StoreStatus {
  /** `away`: the database does not answer, rows go to the journal. `behind`: it is back, and the journal's rows come first. */
  readonly database: 'here' | 'behind' | 'away';
  /** Size of the rows that are in the journal. */
  readonly journalBytes: number;
  /** Whether the journal has room for the rows of more requests. */
  readonly hasRoom: boolean;
  /** What is wrong, for the log. */
  readonly message?: string;
}

/** What the store's thread answers, in the order in which it read and wrote the database. */
export type StoreReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly message: string }
  | (Settled & { readonly kind: 'settled'; readonly faults: readonly SettleFault[] })
  /** The rows are durable in the journal: what they cost is not in any balance that is read, until they are replayed. */
  | {
      readonly kind: 'journaled';
      readonly costs: readonly WorkspaceCost[];
      readonly spendings: readonly Spending[];
      readonly faults: readonly SettleFault[];
    }
  | { readonly kind: 'found'; readonly found: readonly (readonly [hash: string, Credential | undefined])[] }
  | { readonly kind: 'not-searched'; readonly hashes: readonly string[]; readonly message: string }
  /** Another process changed the accounts: what was read before may be stale. */
  | { readonly kind: 'changed' }
  /** What was read before is still so. */
  | { readonly kind: 'confirmed' }
  | { readonly kind: 'status'; readonly status: StoreStatus };
