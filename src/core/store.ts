import type { Credential, Outcome } from './account.ts';

/** What the pipeline needs of the accounts and the ledger. Every call is asynchronous and never blocks the event loop. */
export interface Store {
  /**
   * Finds the credential for the SHA-256 (lowercase hex) of a key's text; undefined when there is none.
   * Answers from memory when it can; a change made by another process is seen within a second. While the database is
   * away, those known before are still found, for a bounded time; for all others it rejects with a `Failure` (503), never
   * with undefined.
   */
  readonly findCredential: (keyHash: string) => Credential | undefined | Promise<Credential | undefined>;
  /**
   * Writes one ledger row and takes its cost from the balance and the budget, once per request id. Resolves when the row is
   * durable: in the database or, while that is away, in the journal, from where it gets there later.
   */
  readonly settle: (outcome: Outcome) => Promise<void>;
  /**
   * Whether a request that begins now can be settled when it ends. When not (the journal is full, too many rows wait),
   * admission answers 503 before anything is dispatched. Answers from memory.
   */
  readonly canSettle: () => boolean;
}
