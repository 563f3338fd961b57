import type { Credential, Outcome } from './account.ts';

/** What the pipeline needs of the accounts and the ledger. Every call is asynchronous and never blocks the event loop. */
export interface Store {
  /**
   * Finds the credential for the SHA-256 (lowercase hex) of a key's text; undefined when there is none.
   * Answers from memory when it can; a change made by another process is seen within a second.
   */
  readonly findCredential: (keyHash: string) => Credential | undefined | Promise<Credential | undefined>;
  /** Writes one ledger row and takes its cost from the balance, once per request id. Resolves when it is durable. */
  readonly settle: (outcome: Outcome) => Promise<void>;
}
