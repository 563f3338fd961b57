import type { Kysely } from 'kysely';
import type { AccountFigures, KeyFigures, WorkspaceFigures } from '../core/declared-account.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { periodEnd, periodStart } from '../core/budget-period.ts';
import { spentBy } from './find-credentials.ts';

/** The figures of workspaces and keys that their objects show. Reads one row for each day of spending in a period. */
export async function accountFigures(
  queries: Kysely<Schema>,
  { workspaceIds, keyIds }: { readonly workspaceIds: readonly string[]; readonly keyIds: readonly string[] },
  now: number,
): Promise<AccountFigures> {
  return {
    workspaces: await workspaceFigures(queries, workspaceIds, now),
    keys: await keyFigures(queries, keyIds, now),
  };
}

async function workspaceFigures(
  queries: Kysely<Schema>,
  ids: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, WorkspaceFigures>> {
  if (ids.length === 0) return new Map();
  const rows = await queries.selectFrom('workspaces').select(['id', 'balance']).where('id', 'in', ids).execute();
  const counts = await queries
    .selectFrom('keys')
    .select((columns) => ['workspace_id', columns.fn.countAll<number | bigint>().as('count')])
    .where('workspace_id', 'in', ids)
    .where('status', '<>', 'revoked')
    .where('playground_of', 'is', null)
    .where('identity_id', 'is', null)
    .groupBy('workspace_id')
    .execute();
  const spent = await queries
    .selectFrom('spending')
    .innerJoin('keys', 'keys.id', 'spending.key_id')
    .where('keys.workspace_id', 'in', ids)
    .where('spending.day', '>=', BigInt(periodStart('month', now)))
    .where('spending.day', '<', BigInt(periodEnd('month', now)))
    .groupBy('keys.workspace_id')
    .select(['keys.workspace_id as id', ...exactSum('spending.amount', 'spent')])
    .execute();
  const keysOf = new Map(counts.map((row) => [row.workspace_id, Number(row.count)]));
  const spentOf = new Map(spent.map((row) => [row.id, exactTotal(row.spent_high, row.spent_low)]));
  return new Map(
    rows.map(({ id, balance }) => [id, { balance, spentThisMonth: spentOf.get(id) ?? 0n, keys: keysOf.get(id) ?? 0 }]),
  );
}

async function keyFigures(
  queries: Kysely<Schema>,
  ids: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, KeyFigures>> {
  if (ids.length === 0) return new Map();
  const used = await queries
    .selectFrom('spending')
    .select((columns) => ['key_id', columns.fn.max('last_used_at').as('last')])
    .where('key_id', 'in', ids)
    .groupBy('key_id')
    .execute();
  const lastOf = new Map(used.map((row) => [row.key_id, Number(row.last)]));
  const spent = await spentBy(queries, ids, now);
  return new Map(ids.map((id) => [id, { lastUsedAt: lastOf.get(id), spent: spent.get(id) ?? 0n }]));
}
