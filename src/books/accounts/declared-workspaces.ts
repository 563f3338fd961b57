import { type Kysely, sql, type Transaction } from 'kysely';
import type { Workspace } from '../../core/account.ts';
import type { Authorship, CreditRecord } from '../core/administration.ts';
import type {
  AccountObjectName,
  CreditBooked,
  DeclaredWorkspace,
  Declarer,
  WorkspaceLeaving,
} from '../core/declared-account.ts';
import { listBounds } from '../../core/limits.ts';
import type { Money } from '../../core/money.ts';
import type { Schema } from '../databases/schema.ts';
import { addLockedCredit, findCredit } from './credits.ts';
import { currentAccountOf, declare, setState, unlock } from './declarations.ts';
import { refuseMore } from './list-bounds.ts';
import { changeThresholds } from './thresholds.ts';
import { changeLocked, findWorkspace, insertWorkspace, lockWorkspace, renameLocked } from './workspaces.ts';

// Workspaces and credits that objects declare. An object is known by its kind, namespace and name. So an object that was
// deleted and made again, or restored with the cluster's database, finds the account that it had.

/**
 * Makes the workspace of an object, or gives it the object's settings. The object gets the workspace of an earlier object
 * of its name. Throws a `Refusal` of the kind `conflict` if another workspace has the name in the ledger.
 */
export async function declareWorkspace(
  queries: Kysely<Schema>,
  object: Declarer,
  wanted: DeclaredWorkspace,
  by: Authorship,
): Promise<{ readonly workspace: Workspace; readonly isNew: boolean }> {
  const { ledgerName: name, thresholds, ...settings } = wanted;
  return queries.transaction().execute(async (transaction) => {
    const id = await currentAccountOf(transaction, 'Workspace', object);
    const isNew = id === undefined;
    if (isNew) await refuseMoreWorkspaces(transaction, object);
    let workspace = isNew
      ? await insertWorkspace(transaction, { ...settings, labels: undefined, name, credit: 0n }, by)
      : await lockWorkspace(transaction, id);
    if (isNew || object.isManaging) {
      workspace = await changeLocked(transaction, workspace, { settings, by });
      const about = { action: 'workspace.thresholds', objectId: workspace.id, workspaceId: workspace.id } as const;
      await changeThresholds(transaction, { ...about, percents: thresholds }, by);
    }
    await declare(transaction, workspace.id, { kind: 'Workspace', by: object, at: by.now });
    return { workspace, isNew };
  });
}

async function refuseMoreWorkspaces(transaction: Transaction<Schema>, { namespace }: AccountObjectName): Promise<void> {
  const rows = transaction
    .selectFrom('declarations')
    .where('kind', '=', 'Workspace')
    .where('namespace', '=', namespace);
  const entries = 'workspaces, which are permanent';
  const remedy = 'Declare again one that is gone, or use another namespace.';
  await refuseMore(rows, listBounds.maxWorkspaces, { list: 'A namespace', entries, field: 'namespace', remedy });
}

/**
 * Ends the declaration of a workspace, unless it has keys that are not revoked. Keys of the portal's playground do not
 * count: they are revoked. Accounts of identities do not count: they are suspended with the workspace. `eraseName`: the name is free for another workspace, and this one is found by its id.
 */
export async function leaveWorkspace(
  queries: Kysely<Schema>,
  object: Declarer,
  { eraseName }: { readonly eraseName: boolean },
  by: Authorship,
): Promise<WorkspaceLeaving> {
  return queries.transaction().execute(async (transaction) => {
    const id = await currentAccountOf(transaction, 'Workspace', object);
    if (id === undefined) return { kind: 'left' };
    const workspace = await lockWorkspace(transaction, id);
    if (object.isManaging) {
      const rows = await transaction
        .selectFrom('keys')
        .select('id')
        .where('workspace_id', '=', id)
        .where('status', '<>', 'revoked')
        .where('playground_of', 'is', null)
        .where('identity_id', 'is', null)
        .execute();
      if (rows.length > 0) return { kind: 'has-keys', keys: rows.length };
      await transaction
        .updateTable('keys')
        .set({ status: 'revoked' })
        .where('workspace_id', '=', id)
        .where('status', '<>', 'revoked')
        .where('identity_id', 'is', null)
        .execute();
      await changeLocked(transaction, workspace, { settings: { status: 'suspended' }, by });
    }
    if (eraseName) {
      const before = await findWorkspace(transaction, id);
      // No object and no command can give a workspace a name with "~".
      await renameLocked(transaction, before, { name: `${before.name}~${id}`, by });
      await setState(transaction, id, { state: 'replaced' });
      await freeAccounts(transaction, id);
    }
    await unlock(transaction, 'Workspace', object);
    return { kind: 'left' };
  });
}

/** An identity finds its accounts by the name of the workspace. A later workspace of that name has other accounts. */
async function freeAccounts(transaction: Transaction<Schema>, workspaceId: string): Promise<void> {
  await transaction
    .updateTable('keys')
    .set({ status: 'revoked', hash: sql<string>`'freed ' || id` })
    .where('workspace_id', '=', workspaceId)
    .where('identity_id', 'is not', null)
    .execute();
}

/**
 * Books the credit of an object, once for each name, and once for each amount and note in a workspace: an object that is
 * applied again, restored or renamed changes no money. Throws a `Refusal` like `addCredit`.
 */
export async function bookCredit(
  queries: Kysely<Schema>,
  object: Declarer,
  wanted: { readonly workspaceId: string; readonly amount: Money; readonly note: string },
  by: Authorship,
): Promise<CreditBooked> {
  const { workspaceId, amount, note } = wanted;
  return queries.transaction().execute(async (transaction): Promise<CreditBooked> => {
    // The lock makes bookings of one workspace take turns. Bookings of two workspaces for one object meet in the index.
    await lockWorkspace(transaction, workspaceId);
    const id = await currentAccountOf(transaction, 'Credit', object);
    if (id !== undefined) {
      const booked = await findCredit(transaction, id);
      await declare(transaction, id, { kind: 'Credit', by: object, at: by.now });
      const { credit } = booked;
      const isSame = booked.workspaceId === workspaceId && credit.amount === amount && credit.note === note.trim();
      if (isSame) return { kind: 'booked', credit, isNew: false };
      const { name: workspaceName } = await findWorkspace(transaction, booked.workspaceId);
      return { kind: 'booked-otherwise', credit, workspaceName };
    }
    const twin = await findTwin(transaction, workspaceId, { amount, note: note.trim() });
    if (twin !== undefined) return { kind: 'booked-as', ...twin };
    const { credit } = await addLockedCredit(transaction, workspaceId, { amount, note }, by);
    await declare(transaction, credit.id, { kind: 'Credit', by: object, at: by.now });
    return { kind: 'booked', credit, isNew: true };
  });
}

/** Another object's credit with the same amount and note in a workspace. */
async function findTwin(
  transaction: Transaction<Schema>,
  workspaceId: string,
  { amount, note }: { readonly amount: Money; readonly note: string },
): Promise<{ readonly name: string; readonly credit: CreditRecord } | undefined> {
  const row = await transaction
    .selectFrom('credits')
    .innerJoin('declarations', 'declarations.account_id', 'credits.id')
    .select(['credits.id as id', 'declarations.name as name'])
    .where('credits.workspace_id', '=', workspaceId)
    .where('credits.amount', '=', amount)
    .where('credits.note', '=', note)
    .executeTakeFirst();
  return row && { name: row.name, credit: (await findCredit(transaction, row.id)).credit };
}

/** Ends the declaration of a credit. The credit stays booked, and so does the name of its object. */
export async function leaveCredit(
  queries: Kysely<Schema>,
  object: AccountObjectName,
): Promise<CreditRecord | undefined> {
  return queries.transaction().execute(async (transaction) => {
    const id = await currentAccountOf(transaction, 'Credit', object);
    await unlock(transaction, 'Credit', object);
    return id === undefined ? undefined : (await findCredit(transaction, id)).credit;
  });
}

/** The workspace that an object of this name declares. Undefined: none is in the ledger yet. */
export async function declaredWorkspace(
  queries: Kysely<Schema>,
  object: AccountObjectName,
): Promise<Workspace | undefined> {
  return queries.transaction().execute(async (transaction) => {
    const id = await currentAccountOf(transaction, 'Workspace', object);
    return id === undefined ? undefined : findWorkspace(transaction, id);
  });
}
