import type { Kysely } from 'kysely';
import type { Credential, Workspace } from '../../core/account.ts';
import type { Money } from '../../core/money.ts';
import type { KeyRecord } from '../core/administration.ts';
import { budgetSpending } from './budget-spending.ts';
import { dayOfPeriod } from './day-of-period.ts';
import { hashKey, looksLikeKey } from './key-text.ts';
import { keyOf, listKeys } from './keys.ts';
import { byIds } from '../databases/by-ids.ts';
import { tagBudgetsOf } from './tag-budgets.ts';
import { readCountedTags } from '../ledger/counted-tags.ts';
import { atOneMoment } from '../databases/one-moment.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { workspaceOf } from './workspaces.ts';

/**
 * Finds the credentials for the hashes of presented keys, all as of one moment. Hashes without a key are missing in the
 * result. Reads one row for each day of a budget's period, so the size of the ledger does not matter.
 */
export async function findCredentials(
  queries: Kysely<Schema>,
  hashes: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, Credential>> {
  if (hashes.length === 0) return new Map();
  // One snapshot for all queries: a settlement between two of them must not be seen by only one.
  return atOneMoment(queries, async (transaction) => {
    const keys = await transaction.selectFrom('keys').selectAll().where('hash', 'in', hashes).execute();
    if (keys.length === 0) return new Map();
    const owners = await transaction
      .selectFrom('workspaces')
      .selectAll()
      .where(
        'id',
        'in',
        keys.map((key) => key.workspace_id),
      )
      .execute();
    const workspaces = new Map(owners.map((owner) => [owner.id, workspaceOf(owner)]));
    const budgeted = keys.filter((key) => key.budget_period !== null).map(({ id }) => id);
    const spent = await spentBy(transaction, budgeted, now);
    const tagBudgets = await tagBudgetsOf(transaction, [...workspaces.keys()], now);
    const counted = await readCountedTags(transaction, new Map([...tagBudgets].map(([id, of]) => [id, of.keys()])));
    return new Map(
      keys.flatMap((row) => {
        const workspace = workspaces.get(row.workspace_id);
        if (workspace === undefined) return [];
        const ofTags = tagBudgets.get(workspace.id);
        const credential = { key: keyOf(row), workspace, spent: spent.get(row.id) ?? 0n };
        if (ofTags === undefined) return [[row.hash, credential] as const];
        return [[row.hash, { ...credential, tagBudgets: ofTags, countedTags: counted.get(workspace.id) }] as const];
      }),
    );
  });
}

/** Finds the credential of a key by the key's text. Undefined: there is no such key. A text without the shape of a key is not looked up. */
export async function findCredential(
  queries: Kysely<Schema>,
  keyText: string,
  now: number,
): Promise<Credential | undefined> {
  if (!looksLikeKey(keyText)) return undefined;
  const hash = hashKey(keyText);
  return (await findCredentials(queries, [hash], now)).get(hash);
}

/**
 * What was spent with keys and the keys that they replaced: in the current period of the budget, or altogether for a
 * key without a budget. Keys that were never used are missing.
 */
export async function spentBy(
  queries: Kysely<Schema>,
  keyIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, Money>> {
  const rows = await byIds(keyIds, (some) =>
    budgetSpending(queries)
      .innerJoin('keys', 'keys.id', 'counted.key_id')
      .where('counted.key_id', 'in', some)
      .where(dayOfPeriod({ day: 'counted.day', unitMs: 1, period: 'keys.budget_period', now }))
      .groupBy('counted.key_id')
      .select(['counted.key_id', ...exactSum('counted.amount', 'spent')])
      .execute(),
  );
  return new Map(rows.map((row) => [row.key_id, exactTotal(row.spent_high, row.spent_low)]));
}

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
