import { randomBytes } from 'node:crypto';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { listBounds } from '../../core/limits.ts';
import type { AuditAction, Authorship, NewSession } from '../core/administration.ts';
import {
  credentialOfUser,
  type LocalUser,
  localUserFields,
  maxInvitationMs,
  type NewInvitation,
  type UserWithPassword,
} from '../core/local-user.ts';
import { memberAddress } from '../core/membership.ts';
import { refusal } from '../core/operator-refusals.ts';
import { fieldsOfRow } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { recordChange } from './audit.ts';
import { hashKey } from './key-text.ts';
import { refuseMore } from './list-bounds.ts';
import { addMember } from './members.ts';
import { newId } from './workspaces.ts';

type Row = Selectable<Schema['local_users']>;

/**
 * Invites an address. The token of its link is only in the result and stored nowhere. A user who is known keeps its
 * password until the new link is used; an earlier link of the user ends. Throws a `Refusal` for a text that is no address,
 * for a moment that has passed or is too late, for too many users, and for a membership like `inviteMember`.
 */
export async function inviteUser(
  queries: Kysely<Schema>,
  { address: text, role, membership, until }: NewInvitation,
  by: Authorship,
): Promise<{ readonly user: LocalUser; readonly token: string }> {
  const address = memberAddress(text);
  if (address === undefined) throw refusal('address_malformed');
  if (until <= by.now || until > by.now + maxInvitationMs) throw refusal('invitation_too_long');
  const token = randomBytes(24).toString('base64url');
  return queries.transaction().execute(async (transaction) => {
    if (membership !== undefined) {
      await addMember(transaction, membership.workspace, { address, role: membership.role }, by);
    }
    const before = await byAddress(transaction, address);
    if (before === undefined) await refuseMoreUsers(transaction);
    const changed = { role, invitation: hashKey(token), invited_until: BigInt(until) };
    const made = { id: newId('user'), address, password: null, created_at: BigInt(by.now), last_sign_in_at: null };
    const after = await transaction
      .insertInto('local_users')
      .values({ ...made, ...changed })
      .onConflict((conflict) => conflict.column('address').doUpdateSet(changed))
      .returningAll()
      .executeTakeFirstOrThrow();
    // Its sessions have the role with which they began.
    if (before !== undefined && before.role !== role) await endSessionsOf(transaction, after);
    await record(transaction, { action: 'user.invite', before, after }, by);
    return { user: userOf(after), token };
  });
}

async function refuseMoreUsers(transaction: Transaction<Schema>): Promise<void> {
  await refuseMore(transaction.selectFrom('local_users'), listBounds.maxLocalUsers, {
    ...{ list: 'An installation', entries: 'local users', field: 'address' },
  });
}

/**
 * Uses an invitation, once: the user gets this password, as its hash, and its sessions end. Throws a `Refusal` if no link
 * with this token works now.
 */
export async function acceptInvitation(
  queries: Kysely<Schema>,
  { token, password }: { readonly token: string; readonly password: string },
  now: number,
): Promise<LocalUser> {
  return queries.transaction().execute(async (transaction) => {
    const invitation = hashKey(token);
    const before = await transaction
      .selectFrom('local_users')
      .selectAll()
      .where('invitation', '=', invitation)
      .executeTakeFirst();
    // Another use of the link may come first.
    const after = await transaction
      .updateTable('local_users')
      .set({ password, invitation: null, invited_until: null })
      .where('invitation', '=', invitation)
      .where('invited_until', '>', BigInt(now))
      .returningAll()
      .executeTakeFirst();
    if (before === undefined || after === undefined) throw refusal('invitation_ended');
    await endSessionsOf(transaction, after);
    const by = { actor: { kind: 'portal-user', name: after.address }, now } as const;
    await record(transaction, { action: 'user.password', before, after }, by);
    return userOf(after);
  });
}

/** The user with an address, and the hash of its password. Undefined: there is none. */
export async function findUser(queries: Kysely<Schema>, address: string): Promise<UserWithPassword | undefined> {
  const known = memberAddress(address);
  const row = known === undefined ? undefined : await byAddress(queries, known);
  return row && { user: userOf(row), password: row.password ?? undefined };
}

/** All local users, by address. */
export async function listUsers(queries: Kysely<Schema>): Promise<readonly LocalUser[]> {
  return (await queries.selectFrom('local_users').selectAll().orderBy('address').execute()).map(userOf);
}

/** Whether there is a local user. */
export async function hasUsers(queries: Kysely<Schema>): Promise<boolean> {
  return (await queries.selectFrom('local_users').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** Removes a user, by its address or id, and ends its sessions. Memberships stay. Throws a `Refusal` if there is none. */
export async function removeUser(queries: Kysely<Schema>, addressOrId: string, by: Authorship): Promise<LocalUser> {
  return queries.transaction().execute(async (transaction) => {
    const row = await transaction
      .deleteFrom('local_users')
      .where((where) => where.or([where('id', '=', addressOrId), where('address', '=', addressOrId.toLowerCase())]))
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw refusal('user_not_found', { user: addressOrId });
    await endSessionsOf(transaction, row);
    await record(transaction, { action: 'user.remove', before: row, after: undefined }, by);
    return userOf(row);
  });
}

/**
 * Notes a sign-in, in the transaction that begins the session, and locks the user until then. False: the user was removed
 * meanwhile.
 */
export async function recordUserSignIn(
  transaction: Transaction<Schema>,
  { address = '', createdAt }: Pick<NewSession, 'address' | 'createdAt'>,
): Promise<boolean> {
  const seen = await transaction
    .updateTable('local_users')
    .set({ last_sign_in_at: BigInt(createdAt) })
    .where('address', '=', address)
    .executeTakeFirst();
  return seen.numUpdatedRows === 1n;
}

const byAddress = (queries: Kysely<Schema>, address: string): Promise<Row | undefined> =>
  queries.selectFrom('local_users').selectAll().where('address', '=', address).executeTakeFirst();

async function endSessionsOf(transaction: Transaction<Schema>, user: Pick<Row, 'id'>): Promise<void> {
  await transaction.deleteFrom('sessions').where('credential', '=', credentialOfUser(user)).execute();
}

const userOf = (row: Row): LocalUser => ({ ...fieldsOfRow(localUserFields, row), hasPassword: row.password !== null });

async function record(
  transaction: Transaction<Schema>,
  change: {
    readonly action: AuditAction & `user.${string}`;
    readonly before: Row | undefined;
    readonly after: Row | undefined;
  },
  by: Authorship,
): Promise<void> {
  const { action, before, after } = change;
  const row = after ?? before;
  if (row === undefined) throw new Error('a change has an object before or after it');
  const gone = { address: row.address, role: 'none' };
  await recordChange(
    transaction,
    {
      ...{ action, objectId: row.id, workspaceId: undefined },
      ...{ before: before && shown(before), after: after === undefined ? gone : shown(after) },
    },
    by,
  );
}

/** A user in the audit trail: whether a password is set, and the invitation link by a part of its digest. */
const shown = ({ address, role, password, invitation }: Row) => ({
  ...{ address, role, password: password === null ? 'none' : 'set' },
  invitation: invitation?.slice(0, 8) ?? 'none',
});
