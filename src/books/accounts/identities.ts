import type { Kysely, Selectable, Transaction } from 'kysely';
import { changedFields } from '../../core/account-field.ts';
import { type Identity, identityLimits, type IdentityRules } from '../../core/identity.ts';
import { listBounds } from '../../core/limits.ts';
import { tagOf } from '../../core/tags.ts';
import { messageOf } from '../../core/failure.ts';
import type { AuditAction, Authorship } from '../core/administration.ts';
import type { Declarer } from '../core/declared-account.ts';
import type { IdentityChange, NewIdentity } from '../core/identity.ts';
import { refusal } from '../core/operator-refusals.ts';
import { shownIdentity } from '../core/shown.ts';
import { columnsOf, fieldsOfRow } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { changeLockedKey } from './change-keys.ts';
import { currentAccountOf, declare, refuseDeclared, unlock } from './declarations.ts';
import { refuseMore } from './list-bounds.ts';
import { newId } from './workspaces.ts';

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Makes an identity. Throws a `Refusal` for a name that is in use or is no name, for rules that cannot be read, and if there are as
 * many identities as there may be.
 */
export async function createIdentity(queries: Kysely<Schema>, wanted: NewIdentity, by: Authorship): Promise<Identity> {
  if (!namePattern.test(wanted.name)) {
    const form = 'letters, digits, ".", "_" and "-", at most 64, beginning with a letter or a digit';
    throw refusal('name_malformed', { name: wanted.name, what: 'an identity', form });
  }
  await checkRules(wanted);
  return queries.transaction().execute((transaction) => insertIdentity(transaction, wanted, by));
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
 * it, and for rules that cannot be read.
 */
export async function changeIdentity(
  queries: Kysely<Schema>,
  nameOrId: string,
  change: IdentityChange,
  by: Authorship,
): Promise<Identity> {
  await checkRules(change);
  return queries.transaction().execute(async (transaction) => {
    const { id } = await findIdentity(transaction, nameOrId);
    await refuseDeclared(transaction, id, by);
    return changeLocked(transaction, id, change, by);
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
  await transaction.updateTable('identities').set(rowOf(after)).where('id', '=', id).execute();
  const { status = before.status } = change;
  const action = status === before.status ? 'identity.update' : statusActions[status];
  await record(transaction, { action, before, after }, by);
  const { status: _, ...limits } = identityLimits;
  const names = changedFields(limits, change).flatMap(({ fields }) => Object.keys(fields));
  const ofAccounts = Object.fromEntries(names.map((name) => [name, Reflect.get(change, name)]));
  const wanted = status === before.status ? ofAccounts : { ...ofAccounts, status };
  if (Object.keys(wanted).length === 0) return after;
  const accounts = await transaction
    .selectFrom('keys')
    .select('id')
    .where('identity_id', '=', id)
    .where('status', '<>', 'revoked')
    .execute();
  for (const account of accounts) await changeLockedKey(transaction, account.id, wanted, by);
  return after;
}

/** A field that is undefined stays as it is, but for budget and models, which can be removed. */
function changed(before: Identity, change: IdentityChange): Identity {
  const given = Object.entries(change).filter(
    ([name, value]) => value !== undefined || name === 'budget' || name === 'models',
  );
  return { ...before, ...Object.fromEntries(given) };
}

/** All identities whose tokens can let somebody in, or could again, in the order of their names. */
export async function listIdentities(queries: Kysely<Schema>): Promise<readonly Identity[]> {
  const rows = await queries
    .selectFrom('identities')
    .selectAll()
    .where('status', '<>', 'revoked')
    .orderBy('name')
    .execute();
  return rows.map(identityOf);
}

/** Makes the identity of an object, or gives it the object's rules and limits. Throws a `Refusal` like `createIdentity`. */
export async function declareIdentity(
  queries: Kysely<Schema>,
  object: Declarer,
  { status, ...wanted }: NewIdentity & Pick<Identity, 'status'>,
  by: Authorship,
): Promise<{ readonly identity: Identity; readonly isNew: boolean }> {
  await checkRules(wanted);
  return queries.transaction().execute(async (transaction) => {
    const known = await currentAccountOf(transaction, 'Identity', object);
    const found = known === undefined ? undefined : await rowById(transaction, known);
    const isNew = found === undefined || found.status === 'revoked';
    if (isNew && known !== undefined) await unlock(transaction, 'Identity', object);
    const { id } = isNew ? await insertIdentity(transaction, wanted, by) : found;
    await declare(transaction, id, { kind: 'Identity', by: object, at: by.now });
    const identity =
      isNew || object.isManaging ? await changeLocked(transaction, id, { ...wanted, status }, by) : identityOf(found);
    return { identity, isNew };
  });
}

/** Revokes the identity of an object that is gone, with its accounts. An object that manages nothing only lets it go. */
export async function leaveIdentity(queries: Kysely<Schema>, object: Declarer, by: Authorship): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    const id = await currentAccountOf(transaction, 'Identity', object);
    if (id !== undefined && object.isManaging) await changeLocked(transaction, id, { status: 'revoked' }, by);
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

/** Nobody else changes the identity, or opens an account of it, until the transaction ends. */
export async function lockIdentity(transaction: Transaction<Schema>, id: string): Promise<void> {
  await transaction
    .updateTable('identities')
    .set((columns) => ({ status: columns.ref('status') }))
    .where('id', '=', id)
    .execute();
}

const rowById = (queries: Kysely<Schema>, id: string) =>
  queries.selectFrom('identities').selectAll().where('id', '=', id).executeTakeFirst();

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

const maxRules = 16;

/** Throws a `Refusal` that names the field and says what was expected. */
async function checkRules({ issuer, match, workspace, tags }: IdentityChange): Promise<void> {
  const malformed = (field: string, reason: string) => refusal('identity_malformed', { field, reason }, { field });
  if (issuer !== undefined && issuer !== 'cluster' && !isHttps(issuer)) {
    throw malformed('issuer', `expected "cluster", or an address with https://, and found "${issuer}"`);
  }
  const names = Object.keys(tags ?? {});
  if (match !== undefined && (match.length === 0 || match.length > maxRules)) {
    throw malformed('match', `expected 1 to ${maxRules} expressions, and found ${match.length}`);
  }
  if (names.length > listBounds.maxRequestTags)
    throw malformed('tags', `expected at most ${listBounds.maxRequestTags}`);
  const unnamed = names.find((name) => tagOf(`${name}=x`) === undefined);
  if (unnamed !== undefined) throw malformed('tags', `"${unnamed}" cannot be the name of a tag`);
  const rules = [
    ...(match ?? []).map((text) => ['match', text] as const),
    ...(workspace !== undefined && 'claim' in workspace ? [['workspace', workspace.claim] as const] : []),
    ...Object.values(tags ?? {}).map((text) => ['tags', text] as const),
  ];
  if (rules.length === 0) return;
  // CEL takes a tenth of a second to load, and most commands need none.
  const { compileRule } = await import('../../core/claim-rule.ts');
  for (const [field, text] of rules) {
    try {
      compileRule(text);
    } catch (error) {
      throw malformed(field, `${JSON.stringify(text)}: ${messageOf(error)}`);
    }
  }
}

function isHttps(text: string): boolean {
  const { protocol } = URL.parse(text) ?? {};
  return protocol === 'https:' && !text.includes('?') && !text.includes('#');
}
