import type { Kysely } from 'kysely';
import type { Workspace } from '../../core/account.ts';
import type { KeyRecord } from '../core/administration.ts';
import type { Schema } from '../databases/schema.ts';
import { spentBy } from './find-credentials.ts';
import { listKeys } from './keys.ts';

/** The active keys of a workspace whose enforced budget is spent, newest first, at most `limit`. */
export async function spentKeys(
  queries: Kysely<Schema>,
  workspace: Workspace,
  limit: number,
  now: number,
): Promise<readonly KeyRecord[]> {
  const keys = (await listKeys(queries, workspace)).filter(
    ({ status, budget, notEnforced, isOfPlayground }) =>
      status === 'active' && budget !== undefined && notEnforced?.includes('budget') !== true && !isOfPlayground,
  );
  const ids = keys.map(({ id }) => id);
  const spent = await spentBy(queries, ids, now);
  const isSpent = ({ id, budget }: KeyRecord): boolean => (spent.get(id) ?? 0n) >= (budget?.limit ?? 0n);
  return keys.filter(isSpent).toReversed().slice(0, limit);
}
