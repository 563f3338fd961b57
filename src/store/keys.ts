import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Key, KeyStatus, Workspace } from '../core/account.ts';
import type { ModelPatterns } from '../core/model-patterns.ts';
import { type AuditAction, type Authorship, recordChange } from './audit.ts';
import { findWorkspace, newId, oneLine, Refusal } from './workspaces.ts';
import { newKey } from './key-text.ts';
import { shownKey } from './shown-key.ts';
import type { Schema } from './schema.ts';

type Budget = NonNullable<Key['budget']>;

/** A key as an operator sees it, without its text, which is not stored. */
export interface KeyRecord extends Key {
  readonly workspaceName: string;
  /** What it is for, in an operator's words. */
  readonly name: string | undefined;
  readonly createdAt: number;
  /** When the last request that was settled with the key had started; undefined when there was none. */
  readonly lastUsedAt: number | undefined;
}

/** What a key may be, and how long. */
export interface KeyDetails {
  readonly name?: string | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt?: number | undefined;
  readonly models?: ModelPatterns | undefined;
}

export interface NewKey extends KeyDetails {
  /** Name or id of the workspace that pays. */
  readonly workspace: string;
  readonly budget?: Budget | undefined;
  readonly rate: number;
  readonly burst: number;
}

/**
 * Makes a key. Its text is only in the result and stored nowhere. Throws a `Refusal` when there is no such workspace, for a name of
 * several lines, and for an expiry that has passed.
 */
export async function createKey(
  queries: Kysely<Schema>,
  wanted: NewKey,
  by: Authorship,
): Promise<{ readonly key: KeyRecord; readonly text: string }> {
  const { text, hash } = newKey();
  const details = detailColumns(wanted, by);
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
      created_at: BigInt(by.now),
      ...details,
    } as const;
    await transaction.insertInto('keys').values(row).execute();
    const key = recordOf({ ...row, workspace_name: workspace.name, last_used_at: null });
    await record(transaction, { action: 'key.create', before: undefined, after: key }, by);
    return { key, text };
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

const statusActions = { active: 'key.resume', suspended: 'key.suspend', revoked: 'key.revoke' } as const;

/** Suspends, activates or revokes a key. Throws a `Refusal` for a revoked key, which stays revoked, unless it is revoked again. */
export async function setKeyStatus(
  queries: Kysely<Schema>,
  id: string,
  status: KeyStatus,
  by: Authorship,
): Promise<KeyRecord> {
  return change(queries, id, {
    by,
    action: statusActions[status],
    columnsFor: (before) => {
      if (before.status === 'revoked' && status !== 'revoked') {
        throw new Refusal(`The key "${id}" was revoked, and that is final. \`weir key create\` makes a new one.`);
      }
      return { status };
    },
  });
}

/** Sets the budget of a key, or takes it away. */
export async function setKeyBudget(
  queries: Kysely<Schema>,
  id: string,
  budget: Budget | undefined,
  by: Authorship,
): Promise<KeyRecord> {
  return change(queries, id, { action: 'key.budget', columnsFor: () => budgetColumns(budget), by });
}

/** Changes the rate or the burst of a key, or both; its token bucket has the new size from then on. */
export async function setKeyLimits(
  queries: Kysely<Schema>,
  id: string,
  limits: { readonly rate?: number | undefined; readonly burst?: number | undefined },
  by: Authorship,
): Promise<KeyRecord> {
  const columnsFor = (before: KeyRecord) => {
    const { rate = before.rate, burst = before.burst } = limits;
    return { rate: BigInt(rate), burst: BigInt(burst) };
  };
  return change(queries, id, { action: 'key.limits', columnsFor, by });
}

/**
 * Changes the name, the expiry or the models of a key: what is in `details`, undefined included, and nothing else. Throws a
 * `Refusal` as `createKey` does.
 */
export async function updateKey(
  queries: Kysely<Schema>,
  id: string,
  details: KeyDetails,
  by: Authorship,
): Promise<KeyRecord> {
  const columnsFor = (before: KeyRecord) => {
    const columns = detailColumns({ ...before, expiresAt: undefined, ...details }, by);
    // An expiry that is not to be changed may have passed.
    return 'expiresAt' in details ? columns : { ...columns, expires_at: columnOf(before.expiresAt) };
  };
  return change(queries, id, { action: 'key.update', columnsFor, by });
}

/** Changes a key and records that. Nobody else changes it between what `columnsFor` is told and what is written. */
async function change(
  queries: Kysely<Schema>,
  id: string,
  wanted: {
    readonly action: AuditAction;
    readonly columnsFor: (before: KeyRecord) => Partial<Schema['keys']>;
    readonly by: Authorship;
  },
): Promise<KeyRecord> {
  const { action, columnsFor, by } = wanted;
  return queries.transaction().execute(async (transaction) => {
    await transaction
      .updateTable('keys')
      .set((columns) => ({ status: columns.ref('status') }))
      .where('id', '=', id)
      .execute();
    const before = await findKey(transaction, id);
    await transaction.updateTable('keys').set(columnsFor(before)).where('id', '=', id).execute();
    const after = await findKey(transaction, id);
    await record(transaction, { action, before, after }, by);
    return after;
  });
}

async function record(
  transaction: Transaction<Schema>,
  changed: { readonly action: AuditAction; readonly before: KeyRecord | undefined; readonly after: KeyRecord },
  by: Authorship,
): Promise<void> {
  const { action, before, after } = changed;
  const { id: objectId, workspaceId } = after;
  const entry = { action, objectId, workspaceId, before: before && shownKey(before), after: shownKey(after) };
  await recordChange(transaction, entry, by);
}

/** A key as its row has it. */
export function keyOf(row: Selectable<Schema['keys']>): Key {
  const { id, status, budget_limit: limit, budget_period: period } = row;
  return {
    id,
    workspaceId: row.workspace_id,
    status,
    rate: Number(row.rate),
    burst: Number(row.burst),
    budget: limit === null || period === null ? undefined : { limit, period },
    expiresAt: row.expires_at === null ? undefined : Number(row.expires_at),
    models: row.models === null ? undefined : row.models.split(','),
  };
}

function recordOf(
  row: Selectable<Schema['keys']> & { readonly workspace_name: string; readonly last_used_at: bigint | null },
): KeyRecord {
  const { workspace_name: workspaceName, last_used_at: lastUsedAt } = row;
  return {
    ...keyOf(row),
    workspaceName,
    name: row.name ?? undefined,
    createdAt: Number(row.created_at),
    lastUsedAt: lastUsedAt === null ? undefined : Number(lastUsedAt),
  };
}

function budgetColumns(budget: Budget | undefined): Pick<Schema['keys'], 'budget_limit' | 'budget_period'> {
  return { budget_limit: budget?.limit ?? null, budget_period: budget?.period ?? null };
}

const longestName = 100;

function detailColumns(
  { name = '', expiresAt, models }: KeyDetails,
  { now }: Authorship,
): Pick<Schema['keys'], 'name' | 'expires_at' | 'models'> {
  if (expiresAt !== undefined && expiresAt <= now) {
    throw new Refusal(`A key cannot expire at ${new Date(expiresAt).toISOString()}: that moment has passed.`);
  }
  return {
    name: oneLine(name, { what: 'The name of a key', most: longestName }) ?? null,
    expires_at: columnOf(expiresAt),
    models: models?.join(',') ?? null,
  };
}

function columnOf(moment: number | undefined): bigint | null {
  return moment === undefined ? null : BigInt(moment);
}
