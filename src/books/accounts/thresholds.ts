import type { Kysely, Transaction } from 'kysely';
import { checkThresholds, type Thresholds, thresholdsForm } from '../../core/alert.ts';
import type { Authorship } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import type { Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { refuseDeclared } from './declarations.ts';
import { findKey } from './keys.ts';
import { findWorkspace } from './workspaces.ts';

/**
 * Sets the thresholds of a workspace's balance; undefined: the default again. Throws a `Refusal` if there is no such
 * workspace, or if an object declares it.
 */
export async function setWorkspaceThresholds(
  queries: Kysely<Schema>,
  nameOrId: string,
  percents: Thresholds | undefined,
  by: Authorship,
): Promise<Thresholds | undefined> {
  return queries.transaction().execute(async (transaction) => {
    const { id } = await findWorkspace(transaction, nameOrId);
    await refuseDeclared(transaction, id, by);
    return changeThresholds(
      transaction,
      { action: 'workspace.thresholds', objectId: id, workspaceId: id, percents },
      by,
    );
  });
}

/** Like `setWorkspaceThresholds`, for the budget of a key. */
export async function setKeyThresholds(
  queries: Kysely<Schema>,
  id: string,
  percents: Thresholds | undefined,
  by: Authorship,
): Promise<Thresholds | undefined> {
  return queries.transaction().execute(async (transaction) => {
    const { workspaceId } = await findKey(transaction, id);
    await refuseDeclared(transaction, id, by);
    return changeThresholds(transaction, { action: 'key.thresholds', objectId: id, workspaceId, percents }, by);
  });
}

/** Like `setWorkspaceThresholds` and `setKeyThresholds`, in a transaction, also for the object that declares them. */
export async function changeThresholds(
  transaction: Transaction<Schema>,
  {
    percents,
    ...about
  }: {
    readonly action: 'workspace.thresholds' | 'key.thresholds';
    readonly objectId: string;
    readonly workspaceId: string;
    readonly percents: Thresholds | undefined;
  },
  by: Authorship,
): Promise<Thresholds | undefined> {
  const { objectId } = about;
  const before = (await ownThresholds(transaction, [objectId])).get(objectId);
  const wanted = await storeThresholds(transaction, objectId, percents);
  await recordChange(transaction, { ...about, before: shownThresholds(before), after: shownThresholds(wanted) }, by);
  return wanted;
}

/** As the audit trail shows them. */
export function shownThresholds(thresholds: Thresholds | undefined) {
  return { thresholds: thresholds ?? 'default' };
}

/** Stores the thresholds of an object; undefined: the default again. Throws a `Refusal` if their form is wrong. */
export async function storeThresholds(
  transaction: Transaction<Schema>,
  objectId: string,
  percents: Thresholds | undefined,
): Promise<Thresholds | undefined> {
  const wanted = percents && checkThresholds(percents);
  if (percents !== undefined && wanted === undefined) {
    throw refusal('thresholds_malformed', { form: thresholdsForm });
  }
  if (wanted === undefined) await transaction.deleteFrom('thresholds').where('object_id', '=', objectId).execute();
  else {
    const row = { percents: wanted.join(',') };
    await transaction
      .insertInto('thresholds')
      .values({ object_id: objectId, ...row })
      .onConflict((conflict) => conflict.column('object_id').doUpdateSet(row))
      .execute();
  }
  return wanted;
}

/** The id under which the thresholds of a tag are stored. `number`: of the tag. */
export function tagObjectId(number: number | bigint): string {
  return `tag_${number}`;
}

/** The thresholds of the workspaces, keys and tags that have some of their own: of these ids, or of all. */
export async function ownThresholds(
  queries: Kysely<Schema>,
  ids?: readonly string[],
): Promise<ReadonlyMap<string, Thresholds>> {
  if (ids?.length === 0) return new Map();
  let query = queries.selectFrom('thresholds').selectAll();
  if (ids !== undefined) query = query.where('object_id', 'in', ids);
  const rows = await query.execute();
  return new Map(rows.map(({ object_id: id, percents }) => [id, percents.split(',').filter(Boolean).map(Number)]));
}

/** Gives a key the thresholds of the key that it replaces. */
export async function copyThresholds(
  transaction: Transaction<Schema>,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const percents = (await ownThresholds(transaction, [from])).get(from)?.join(',');
  if (percents !== undefined) await transaction.insertInto('thresholds').values({ object_id: to, percents }).execute();
}
