/** Keeps those out for a while from whose address authentication failed too often (docs/reference/api.md §5, rule 5). */
export interface AddressGate {
  /** Milliseconds that an address has to stay away; 0 when it may come in. */
  readonly blockedMs: (address: string) => number;
  /** A request from this address had no valid key. */
  readonly failed: (address: string) => void;
}
