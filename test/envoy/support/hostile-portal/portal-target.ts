/** The portal that is attacked, and what its callers hold. */
export interface PortalTarget {
  readonly port: number;
  readonly adminToken: string;
  /** Members who are signed in, each of a workspace of its own. */
  readonly neighbours: readonly SignedIn[];
  /** A member as well: a stranger gets no stream of events. */
  readonly attacker: SignedIn;
}

export interface SignedIn {
  readonly workspace: string;
  readonly cookie: string;
}
