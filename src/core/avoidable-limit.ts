/** Limits and budgets of a workspace's tags that some of its callers avoid by leaving the tag out, although nothing else limits them so. */
export interface AvoidableLimit {
  /** Name of the workspace. */
  readonly workspace: string;
  /** `team=search`: the tags with such a limit or budget, in ascending order; at least one. */
  readonly tags: readonly string[];
  /** How many keys, and accounts of identities, can leave one of them out, and the name of one. */
  readonly callers: number;
  readonly caller: string;
}
