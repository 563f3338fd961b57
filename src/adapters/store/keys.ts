import type { Kysely, Selectable } from 'kysely';
import type { Credential, Key, KeyStatus, Workspace } from '../../core/account.ts';
import { newId } from './new-id.ts';
import { newKey } from './new-key.ts';
import { Refusal } from './refusal.ts';
import type { Schema } from './schema.ts';
import { findWorkspace, workspaceOf } from './workspaces.ts';

type Budget = NonNullable<Key['budget']>;

/** A key as an operator sees it: never its text, which nobody has kept. */
export interface KeyRecord extends Key {
  readonly workspaceName: string;
  readonly createdAt: number;
}

export interface NewKey {
  /** Name or id of the workspace that pays. */
  readonly workspace: string;
  readonly budget?: Budget | undefined;
  readonly rate: number;
  readonly burst: number;
  readonly now: number;
}

/** Makes a key. The text in the answer exists nowhere else: it is shown once. Refuses when there is no such workspace. */
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
    return { key: recordOf(row, workspace.name), text };
  });
}

/** All keys, or those of one workspace, oldest first. */
export async function listKeys(queries: Kysely<Schema>, workspace?: Workspace): Promise<readonly KeyRecord[]> {
  let query = queries
    .selectFrom('keys')
    .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
    .selectAll('keys')
    .select('workspaces.name as workspace_name')
    .orderBy('keys.created_at')
    .orderBy('keys.id');
  if (workspace) query = query.where('keys.workspace_id', '=', workspace.id);
  return (await query.execute()).map((row) => recordOf(row, row.workspace_name));
}

/** Finds a key by its id; refuses when there is none. */
export async function findKey(queries: Kysely<Schema>, id: string): Promise<KeyRecord> {
  const row = await queries
    .selectFrom('keys')
    .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
    .selectAll('keys')
    .select('workspaces.name as workspace_name')
    .where('keys.id', '=', id)
    .executeTakeFirst();
  if (!row) throw new Refusal(`There is no key with the id "${id}". \`weir key list\` shows them all.`);
  return recordOf(row, row.workspace_name);
}

/** Suspends, resumes or revokes a key. A revoked key stays revoked; asking twice changes nothing more. */
export async function setKeyStatus(queries: Kysely<Schema>, id: string, status: KeyStatus): Promise<KeyRecord> {
  return queries.transaction().execute(async (transaction) => {
    const key = await findKey(transaction, id);
    if (key.status === 'revoked' && status !== 'revoked') {
      throw new Refusal(`The key "${id}" was revoked, and that is final. \`weir key create\` makes a new one.`);
    }
    await transaction.updateTable('keys').set({ status }).where('id', '=', id).execute();
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
    const { budget: _, ...key } = await findKey(transaction, id);
    await transaction.updateTable('keys').set(budgetColumns(budget)).where('id', '=', id).execute();
    return { ...key, ...(budget && { budget }) };
  });
}

/** What admission needs for the hash of a presented key; undefined when there is no such key. */
export async function findCredential(queries: Kysely<Schema>, hash: string): Promise<Credential | undefined> {
  const row = await queries.selectFrom('keys').selectAll().where('hash', '=', hash).executeTakeFirst();
  if (!row) return undefined;
  const owner = await queries
    .selectFrom('workspaces')
    .selectAll()
    .where('id', '=', row.workspace_id)
    .executeTakeFirstOrThrow();
  return { key: keyOf(row), workspace: workspaceOf(owner) };
}

function keyOf(row: Selectable<Schema['keys']>): Key {
  const { id, status, budget_limit: limit, budget_period: period } = row;
  return {
    id,
    workspaceId: row.workspace_id,
    status,
    rate: Number(row.rate),
    burst: Number(row.burst),
    ...(limit !== null && period !== null && { budget: { limit, period } }),
  };
}

function recordOf(row: Selectable<Schema['keys']>, workspaceName: string): KeyRecord {
  return { ...keyOf(row), workspaceName, createdAt: Number(row.created_at) };
}

function budgetColumns(budget: Budget | undefined): Pick<Schema['keys'], 'budget_limit' | 'budget_period'> {
  return { budget_limit: budget?.limit ?? null, budget_period: budget?.period ?? null };
}
