import type { Credential } from '../core/account.ts';
import type { Funds } from '../core/limits.ts';

/** What a credential may still spend: its workspace's balance, and what its budget leaves in the current period. */
export function fundsOf({ key, workspace: { balance }, spent }: Credential): Funds {
  return key.budget === undefined ? { balance } : { balance, budget: key.budget.limit - spent };
}
