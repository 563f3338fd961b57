import type { Credential, Outcome } from '../../core/account.ts';
import type { Balances } from './settle-batch.ts';

/** What the service's thread asks of the store's thread. One batch is under way at a time. */
export type StoreRequest =
  | { readonly kind: 'settle'; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'find'; readonly hash: string }
  | { readonly kind: 'close' };

/** Why one outcome of a batch was not written. Busy: another process held the write lock all the while. */
export interface SettleFault {
  /** Index into the batch. */
  readonly index: number;
  readonly reason: 'busy' | 'refused';
  readonly message: string;
}

/** What the store's thread answers, in the order in which it read the database. */
export type StoreReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly message: string }
  | { readonly kind: 'settled'; readonly balances: Balances; readonly faults: readonly SettleFault[] }
  | { readonly kind: 'found'; readonly hash: string; readonly credential: Credential | undefined }
  | { readonly kind: 'not-searched'; readonly hash: string; readonly message: string }
  /** Another process changed the database: what was read before may be stale. */
  | { readonly kind: 'changed' };
