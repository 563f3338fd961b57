import { type Kysely, type Selectable, sql } from 'kysely';
import type { BudgetPeriod, Credential, Key, KeyStatus, Workspace } from '../core/account.ts';
import { findWorkspace, newId, Refusal, workspaceOf } from './workspaces.ts';
import { newKey } from './key-text.ts';
import { exactSum, exactTotal, type Schema } from './schema.ts';
import { periodStart } from './budget-period.ts';

type Budget = NonNullable<Key['budget']>;

/** A key as an operator sees it, without its text, which is not stored. */
export interface KeyRecord extends Key {
  readonly workspaceName: string;
  readonly createdAt: number;
  /** When the last request that was settled with the key had started; undefined when there was none. */
  readonly lastUsedAt: number | undefined;
}

export interface NewKey {
  /** Name or id of the workspace that pays. */
  readonly workspace: string;
  readonly budget?: Budget | undefined;
  readonly rate: number;
  readonly burst: number;
  readonly now: number;
}

/** Makes a key. Its text is only in the result and stored nowhere. Throws a `Refusal` when there is no such workspace. */
export async function createKey(
  queries: Kysely<Schema>,
  wanted: NewKey,
): Promise<{ readonly key: KeyRecord; readonly text: string }> {
  const { text, hash } = newKey();
  return queries.transaction().execute(async (transaction) => {
    const workspace = await findWorkspace(transaction, wanted.workspace);
    const row = {
      id: newId('key'),
      hash,
      workspace_id: workspace.id,
      status: 'active',
      ...budgetColumns(wanted.budget),
      rate: BigInt(wanted.rate),
      burst: BigInt(wanted.burst),
      created_at: BigInt(wanted.now),
    } as const;
    await transaction.insertInto('keys').values(row).execute();
    return { key: recordOf({ ...row, workspace_name: workspace.name, last_used_at: null }), text };
  });
}

/** All keys, or those of one workspace, oldest first. */
export async function listKeys(queries: Kysely<Schema>, workspace?: Workspace): Promise<readonly KeyRecord[]> {
  let query = records(queries).orderBy('keys.created_at').orderBy('keys.id');
  if (workspace) query = query.where('keys.workspace_id', '=', workspace.id);
  return (await query.execute()).map(recordOf);
}

/** Finds a key by its id. Throws a `Refusal` when there is none. */
export async function findKey(queries: Kysely<Schema>, id: string): Promise<KeyRecord> {
  const row = await records(queries).where('keys.id', '=', id).executeTakeFirst();
  if (!row) throw new Refusal(`There is no key with the id "${id}". \`weir key list\` shows them all.`);
  return recordOf(row);
}

function records(queries: Kysely<Schema>) {
  return queries
    .selectFrom('keys')
    .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
    .selectAll('keys')
    .select('workspaces.name as workspace_name')
    .select((row) =>
      row
        .selectFrom('spending')
        .whereRef('spending.key_id', '=', 'keys.id')
        .select((days) => days.fn.max('spending.last_used_at').as('last'))
        .as('last_used_at'),
    );
}

/** Suspends, activates or revokes a key. Throws a `Refusal` for a revoked key, which stays revoked, unless it is revoked again. */
export async function setKeyStatus(queries: Kysely<Schema>, id: string, status: KeyStatus): Promise<KeyRecord> {
  return queries.transaction().execute(async (transaction) => {
    const key = await findKey(transaction, id);
    // The condition is part of the update, so that a concurrent revocation is not overruled.
    let update = transaction.updateTable('keys').set({ status }).where('id', '=', id);
    if (status !== 'revoked') update = update.where('status', '<>', 'revoked');
    if ((await update.executeTakeFirst()).numUpdatedRows === 0n) {
      throw new Refusal(`The key "${id}" was revoked, and that is final. \`weir key create\` makes a new one.`);
    }
    return { ...key, status };
  });
}

/** Sets the budget of a key, or takes it away. */
export async function setKeyBudget(
  queries: Kysely<Schema>,
  id: string,
  budget: Budget | undefined,
): Promise<KeyRecord> {
  return queries.transaction().execute(async (transaction) => {
    const key = await findKey(transaction, id);
    await transaction.updateTable('keys').set(budgetColumns(budget)).where('id', '=', id).execute();
    return { ...key, budget };
  });
}

/** Changes the rate or the burst of a key, or both; its token bucket has the new size from then on. */
export async function setKeyLimits(
  queries: Kysely<Schema>,
  id: string,
  limits: { readonly rate?: number; readonly burst?: number },
): Promise<KeyRecord> {
  return queries.transaction().execute(async (transaction) => {
    const { rate, burst } = { ...(await findKey(transaction, id)), ...limits };
    const columns = { rate: BigInt(rate), burst: BigInt(burst) };
    await transaction.updateTable('keys').set(columns).where('id', '=', id).execute();
    return findKey(transaction, id);
  });
}

function keyOf(row: Selectable<Schema['keys']>): Key {
  const { id, status, budget_limit: limit, budget_period: period } = row;
  return {
    id,
    workspaceId: row.workspace_id,
    status,
    rate: Number(row.rate),
    burst: Number(row.burst),
    budget: limit === null || period === null ? undefined : { limit, period },
  };
}

function recordOf(
  row: Selectable<Schema['keys']> & { readonly workspace_name: string; readonly last_used_at: bigint | null },
): KeyRecord {
  const { workspace_name: workspaceName, last_used_at: lastUsedAt } = row;
  return {
    ...keyOf(row),
    workspaceName,
    createdAt: Number(row.created_at),
    lastUsedAt: lastUsedAt === null ? undefined : Number(lastUsedAt),
  };
}

function budgetColumns(budget: Budget | undefined): Pick<Schema['keys'], 'budget_limit' | 'budget_period'> {
  return { budget_limit: budget?.limit ?? null, budget_period: budget?.period ?? null };
}

/**
 * Finds the credentials for the hashes of presented keys, all as of one moment. A hash without a key is missing in the result.
 * Reads one row per day of a budget's period, however large the ledger is.
 */
export async function findCredentials(
  queries: Kysely<Schema>,
  hashes: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, Credential>> {
  if (hashes.length === 0) return new Map();
  // One snapshot for all queries: a settlement between two of them must not be seen by only one.
  return queries
    .transaction()
    .setAccessMode('read only')
    .setIsolationLevel('repeatable read')
    .execute(async (transaction) => {
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
      const spent = budgeted.length === 0 ? new Map<string, bigint>() : await spentBy(transaction, budgeted, now);
      return new Map(
        keys.flatMap((row) => {
          const workspace = workspaces.get(row.workspace_id);
          if (workspace === undefined) return [];
          return [[row.hash, { key: keyOf(row), workspace, spent: spent.get(row.id) ?? 0n }] as const];
        }),
      );
    });
}

async function spentBy(queries: Kysely<Schema>, keyIds: readonly string[], now: number) {
  const start = (period: BudgetPeriod) => sql.lit(periodStart(period, now));
  const rows = await queries
    .selectFrom('spending')
    .innerJoin('keys', 'keys.id', 'spending.key_id')
    .where('spending.key_id', 'in', keyIds)
    .where(
      'spending.day',
      '>=',
      sql<bigint>`case keys.budget_period when 'day' then ${start('day')} when 'week' then ${start('week')}
        when 'month' then ${start('month')} else 0 end`,
    )
    .groupBy('spending.key_id')
    .select(['spending.key_id', ...exactSum('spending.amount', 'spent')])
    .execute();
  return new Map(rows.map((row) => [row.key_id, exactTotal(row.spent_high, row.spent_low)]));
}
