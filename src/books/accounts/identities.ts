import { isDeepStrictEqual } from 'node:util';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { type AccountField, changedFields } from '../../core/account-field.ts';
import { type Identity, identityLimits, type IdentityRules } from '../../core/identity.ts';
import { listBounds } from '../../core/limits.ts';
import type { AuditAction, Authorship } from '../core/administration.ts';
import type { Declarer } from '../core/declared-account.ts';
import type { IdentityChange, NewIdentity, SomeIdentityRules } from '../core/identity.ts';
import { refusal } from '../core/operator-refusals.ts';
import { shownIdentity } from '../core/shown.ts';
import { columnsOf, fieldsOfRow } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { changeLockedKey } from './change-keys.ts';
import { currentAccountOf, declare, refuseDeclared, setState, unlock } from './declarations.ts';
import { checkIdentityRules } from './identity-rules.ts';
import { refuseMore } from './list-bounds.ts';
import { findWorkspace, newId } from './workspaces.ts';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Makes an identity. Throws a `Refusal` for a name that is in use or is no name, for a workspace that does not exist, for rules that
 * cannot be read, and if there are as many identities as there may be.
 */
export async function createIdentity(queries: Kysely<Schema>, wanted: NewIdentity, by: Authorship): Promise<Identity> {
  if (!namePattern.test(wanted.name)) {
    const form = 'letters, digits, ".", "_" and "-", at most 64, beginning with a letter or a digit';
    throw refusal('name_malformed', { name: wanted.name, what: 'an identity', form });
  }
  await checkIdentityRules(wanted, wanted);
  const named = await withWorkspace(queries, wanted);
  return queries.transaction().execute((transaction) => insertIdentity(transaction, named, by));
}

/** Gives a workspace by its name, also where its id was given. */
async function withWorkspace<Rules extends SomeIdentityRules>(queries: Kysely<Schema>, rules: Rules): Promise<Rules> {
  const { workspace } = rules;
  if (workspace === undefined || 'claim' in workspace) return rules;
  const { name } = await findWorkspace(queries, workspace.name);
  return { ...rules, workspace: { name } };
}

async function insertIdentity(
  transaction: Transaction<Schema>,
  { name, ...wanted }: NewIdentity,
  by: Authorship,
): Promise<Identity> {
  const rows = transaction.selectFrom('identities').where('status', '<>', 'revoked');
  const list = { list: 'An installation', entries: 'identities that are not revoked', field: 'name' };
  await refuseMore(rows, listBounds.maxIdentities, list);
  const made: Identity = { ...wanted, id: newId('identity'), name, status: 'active' };
  const { numInsertedOrUpdatedRows: inserted } = await transaction
    .insertInto('identities')
    .values({ ...rowOf(made), created_at: BigInt(by.now) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (inserted !== 1n) throw refusal('identity_exists', { name });
  await record(transaction, { action: 'identity.create', before: undefined, after: made }, by);
  return made;
}

/**
 * Changes an identity and the limits of its accounts, in one transaction. Throws a `Refusal` if there is none, if an object declares
 * it, and like `createIdentity`.
 */
export async function changeIdentity(
  queries: Kysely<Schema>,
  nameOrId: string,
  change: IdentityChange,
  by: Authorship,
): Promise<Identity> {
  const { id, ...before } = await findIdentity(queries, nameOrId);
  await checkIdentityRules(change, changed(before, change));
  const named = await withWorkspace(queries, change);
  return queries.transaction().execute(async (transaction) => {
    await refuseDeclared(transaction, id, by);
    return changeLocked(transaction, id, named, by);
  });
}

const statusActions = { active: 'identity.resume', suspended: 'identity.suspend', revoked: 'identity.revoke' } as const;

async function changeLocked(
  transaction: Transaction<Schema>,
  id: string,
  change: IdentityChange,
  by: Authorship,
): Promise<Identity> {
  await lockIdentity(transaction, id);
  const before = await findIdentity(transaction, id);
  const after = changed(before, change);
  // An object declares the same again and again.
  if (isDeepStrictEqual(rowOf(before), rowOf(after))) return after;
  await transaction.updateTable('identities').set(rowOf(after)).where('id', '=', id).execute();
  const { status = before.status } = change;
  const action = status === before.status ? 'identity.update' : statusActions[status];
  await record(transaction, { action, before, after }, by);
  const limits = changedFields(identityLimits, change).map(({ fields }) => Object.keys(fields));
  const names = [...limits.flat(), ...(status === before.status ? [] : ['status'])];
  if (names.length === 0) return after;
  const wanted = Object.fromEntries(names.map((name) => [name, Reflect.get(after, name)]));
  const accounts = await transaction
    .selectFrom('keys')
    .select('id')
    .where('identity_id', '=', id)
    .where('status', '<>', 'revoked')
    .execute();
  for (const account of accounts) await changeLockedKey(transaction, account.id, wanted, by);
  return after;
}

/** Limits that can be removed. */
const removable: ReadonlySet<string> = new Set(
  Object.entries<AccountField>(identityLimits).flatMap(([key, { optional }]) => (optional === true ? key : [])),
);

/** A field that is undefined stays as it is, but for limits that can be removed. */
function changed<Before extends IdentityRules>(before: Before, change: IdentityChange): Before {
  const given = Object.entries(change).filter(([name, value]) => value !== undefined || removable.has(name));
  return { ...before, ...Object.fromEntries(given) };
}

/** All identities whose tokens are accepted, or could be again, in the order of their names. */
export async function listIdentities(queries: Kysely<Schema>): Promise<readonly Identity[]> {
  const rows = await queries
    .selectFrom('identities')
    .selectAll()
    .where('status', '<>', 'revoked')
    .orderBy('name')
    .execute();
  return rows.map(identityOf);
}

/**
 * Makes the identity of an object, or gives it the object's rules and limits. One that people have revoked, because the object does
 * not manage it, stays revoked until the object is made again. Throws a `Refusal` like `createIdentity`.
 */
export async function declareIdentity(
  queries: Kysely<Schema>,
  object: Declarer,
  { status, ...wanted }: NewIdentity & Pick<Identity, 'status'>,
  by: Authorship,
): Promise<{ readonly identity: Identity; readonly isNew: boolean }> {
  await checkIdentityRules(wanted, wanted);
  return queries.transaction().execute(async (transaction) => {
    const known = await currentAccountOf(transaction, 'Identity', object);
    const { id } = known === undefined ? await insertIdentity(transaction, wanted, by) : { id: known };
    await declare(transaction, id, { kind: 'Identity', by: object, at: by.now });
    const before = await identityById(transaction, id);
    const isNew = known === undefined;
    if (before.status === 'revoked' || !(isNew || object.isManaging)) return { identity: before, isNew };
    const { name: _, ...settings } = wanted;
    return { identity: await changeLocked(transaction, id, { ...settings, status }, by), isNew };
  });
}

/** Revokes the identity of an object that is gone, with its accounts. An object that manages nothing only lets it go. */
export async function leaveIdentity(queries: Kysely<Schema>, object: Declarer, by: Authorship): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    const id = await currentAccountOf(transaction, 'Identity', object);
    if (id !== undefined) {
      const { status } = await identityById(transaction, id);
      if (object.isManaging && status !== 'revoked') await changeLocked(transaction, id, { status: 'revoked' }, by);
      // A revoked identity stays revoked, so a later object of this name begins with another.
      if (object.isManaging || status === 'revoked') await setState(transaction, id, { state: 'replaced' });
    }
    await unlock(transaction, 'Identity', object);
  });
}

/** Finds an identity that is not revoked by its name or id. Throws a `Refusal` if there is none. */
export async function findIdentity(queries: Kysely<Schema>, nameOrId: string): Promise<Identity> {
  const row = await queries
    .selectFrom('identities')
    .selectAll()
    .where((where) => where.or([where('id', '=', nameOrId), where('name', '=', nameOrId)]))
    .where('status', '<>', 'revoked')
    .executeTakeFirst();
  if (row === undefined) throw refusal('identity_not_found', { identity: nameOrId });
  return identityOf(row);
}

/** Until the transaction ends, no other one changes the identity or opens an account of it. */
export async function lockIdentity(transaction: Transaction<Schema>, id: string): Promise<void> {
  await transaction
    .updateTable('identities')
    .set((columns) => ({ status: columns.ref('status') }))
    .where('id', '=', id)
    .execute();
}

const identityById = async (queries: Kysely<Schema>, id: string): Promise<Identity> =>
  identityOf(await queries.selectFrom('identities').selectAll().where('id', '=', id).executeTakeFirstOrThrow());

function rowOf({ id, name, issuer, audience, match, workspace, each, tags, isBound, ...limits }: Identity) {
  const rules = JSON.stringify({ match, workspace, each, tags, isBound });
  return { id, name, issuer, audience, rules, ...columnsOf(identityLimits, limits) };
}

export function identityOf(row: Selectable<Schema['identities']>): Identity {
  const { id, name, issuer, audience, rules } = row;
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the text that `rowOf` wrote
  const read = JSON.parse(rules) as Omit<IdentityRules, 'issuer' | 'audience'>;
  return { id, name, issuer, audience, ...read, ...fieldsOfRow(identityLimits, row) };
}

async function record(
  transaction: Transaction<Schema>,
  {
    action,
    before,
    after,
  }: { readonly action: AuditAction; readonly before?: Identity | undefined; readonly after: Identity },
  by: Authorship,
): Promise<void> {
  const entry = { action, objectId: after.id, workspaceId: undefined };
  await recordChange(
    transaction,
    { ...entry, before: before && shownIdentity(before), after: shownIdentity(after) },
    by,
  );
}
