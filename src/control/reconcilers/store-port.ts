import type { AccountOperations, DeclaredName } from '../../books/store/account-operations.ts';

// The operations of the database that reconcilers use. They run in a thread of their own, never in a request's way, and reject while
// the database is down. This file may import types of the store, and no code (.oxlintrc.json).

/** The accounts, as the controller of declared accounts uses them. Every call is one transaction. */
export type DeclaredAccounts = AccountOperations<DeclaredName>;

/** Thresholds that are reached, and months that end. */
export type AlertStore = AccountOperations<'keepSubscriptions' | 'recordReached' | 'avoidableLimits' | 'closeMonths'>;

/** The events of a subscription. */
export type EventStore = AccountOperations<'nextMessages' | 'endMessages' | 'waitingEvents' | 'leaveSubscriptions'>;

/** The reference vectors of embedding models. */
export type ReferenceStore = AccountOperations<
  'readVectorReferences' | 'keepVectorReference' | 'retainVectorReferences'
>;
