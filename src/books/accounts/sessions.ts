import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Key } from '../../core/account.ts';
import { type NewSession, type Session, sessionFields } from '../core/administration.ts';
import { listBounds } from '../../core/limits.ts';
import { type RoleInWorkspace, strongest, type WorkspaceRole, workspaceRoles } from '../core/rights.ts';
import { columnsOf, fieldsOfRow } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { isOfLocalUser } from '../core/local-user.ts';
import { recordUserSignIn } from './local-users.ts';
import { invitedRoles, leaveGroups, recordSignIn, rolesByAddress } from './members.ts';

/** Clocks of replicas may differ by this. A session that is dated later was begun before the clock was set back, and ends. */
const maxSkewMs = 300_000;

/**
 * Begins a session, and deletes expired ones. The session of a key ends with the key's expiry at the latest. Undefined:
 * the key is not active or has expired, or the local user was removed, and no session was begun.
 */
export async function createSession(queries: Kysely<Schema>, wanted: NewSession): Promise<Session | undefined> {
  return queries.transaction().execute(async (transaction) => {
    const session = await limitedByKey(transaction, wanted);
    if (session === undefined) return undefined;
    if (isOfLocalUser(session) && !(await recordUserSignIn(transaction, session))) return undefined;
    const { createdAt } = session;
    await transaction
      .deleteFrom('sessions')
      .where((where) =>
        where.or([
          where('expires_at', '<=', BigInt(createdAt)),
          where('created_at', '>', BigInt(createdAt + maxSkewMs)),
        ]),
      )
      .execute();
    await refreshSessions(transaction, session);
    await transaction
      .insertInto('sessions')
      .values({ ...columnsOf(sessionFields, session), workspaces: rolesText(session.groupRoles) })
      .execute();
    await endOldest(transaction, session);
    await recordSignIn(transaction, session);
    const invited = await invitedRoles(transaction, session.address);
    return { ...session, roles: rolesNow(session, invited) };
  });
}

/** A key or a person can sign in any number of times: beyond the bound, its oldest sessions end. Admins share a token. */
async function endOldest(transaction: Transaction<Schema>, { role, keyId, credential }: NewSession): Promise<void> {
  const owner = keyId ?? credential;
  if (owner === undefined || role === 'admin') return;
  const column = keyId === undefined ? 'credential' : 'key_id';
  const beyond = await transaction
    .selectFrom('sessions')
    .select('hash')
    .where(column, '=', owner)
    .orderBy('created_at', 'desc')
    .orderBy('hash')
    .offset(listBounds.maxSessions)
    // SQLite takes no offset without a limit.
    .limit(listBounds.maxSessions)
    .execute();
  if (beyond.length === 0) return;
  const hashes = beyond.map(({ hash }) => hash);
  await transaction.deleteFrom('sessions').where('hash', 'in', hashes).execute();
}

/**
 * Records a person of an identity provider who may not sign in: neither a group nor an invitation gives a role now. What
 * earlier sign-ins gave ends, in open sessions and in the lists of members.
 */
export async function recordRefusedSignIn(
  queries: Kysely<Schema>,
  { subject, address }: { readonly subject: string; readonly address: string | undefined },
): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    await leaveGroups(transaction, subject, []);
    await refreshSessions(transaction, { credential: subject, role: 'member', groupRoles: new Map(), address });
  });
}

/**
 * Gives the open sessions of a person what the identity provider has said at the newest sign-in: its groups and its
 * address. Sessions of an admin who is one no longer end, and so do those of a member who has become an admin.
 */
async function refreshSessions(
  transaction: Transaction<Schema>,
  { credential, role, groupRoles, address }: Pick<NewSession, 'credential' | 'role' | 'groupRoles' | 'address'>,
): Promise<void> {
  if (credential === undefined) return;
  // An admin without a hint for the log-out came with the admin token, whose digest no subject may end.
  await transaction
    .deleteFrom('sessions')
    .where('credential', '=', credential)
    .where((where) => where.or([where('role', '=', 'member'), where('log_out_hint', 'is not', null)]))
    .where('role', '!=', role)
    .execute();
  if (role !== 'member') return;
  await transaction
    .updateTable('sessions')
    .set({ workspaces: rolesText(groupRoles), address: address ?? null })
    .where('credential', '=', credential)
    .where('role', '=', 'member')
    .execute();
}

/**
 * Ends the session with its key's expiry at the latest. Undefined: the key is not active or has expired. The update
 * locks the key until the session is written. So a suspension at the same moment comes first and is seen here, or comes
 * later and ends the session.
 */
async function limitedByKey(transaction: Transaction<Schema>, session: NewSession): Promise<NewSession | undefined> {
  if (session.keyId === undefined) return session;
  const row = await transaction
    .updateTable('keys')
    .set((columns) => ({ status: columns.ref('status') }))
    .where('id', '=', session.keyId)
    .where('status', '=', 'active')
    .returning('expires_at')
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const keyEnds = row.expires_at === null ? Infinity : Number(row.expires_at);
  return keyEnds <= session.createdAt ? undefined : { ...session, expiresAt: Math.min(session.expiresAt, keyEnds) };
}

/**
 * Ends the sessions of a key that is not active. They stay ended if the key is resumed. Sessions of an active key end
 * with the key's expiry at the latest.
 */
export async function limitSessionsOf(
  transaction: Transaction<Schema>,
  { id, status, expiresAt }: Pick<Key, 'id' | 'status' | 'expiresAt'>,
): Promise<void> {
  if (status !== 'active') {
    await transaction.deleteFrom('sessions').where('key_id', '=', id).execute();
  } else if (expiresAt !== undefined) {
    const ends = BigInt(expiresAt);
    await transaction
      .updateTable('sessions')
      .set({ expires_at: ends })
      .where('key_id', '=', id)
      .where('expires_at', '>', ends)
      .execute();
  }
}

/**
 * Finds sessions by the SHA-256 of their secrets. A session is missing if it has expired or was ended, if its key is not
 * active or has expired, and if its person has no role any more. Every request reads its session and the invitations of
 * its person again, so that changes apply at once everywhere.
 */
export async function findSessions(
  queries: Kysely<Schema>,
  hashes: readonly string[],
  now: number,
): Promise<readonly Session[]> {
  if (hashes.length === 0) return [];
  const rows = await queries
    .selectFrom('sessions')
    .leftJoin('keys', 'keys.id', 'sessions.key_id')
    .selectAll('sessions')
    .where('sessions.hash', 'in', [...hashes])
    .where('sessions.expires_at', '>', BigInt(now))
    .where('sessions.created_at', '<=', BigInt(now + maxSkewMs))
    .where((where) =>
      where.or([
        where('sessions.key_id', 'is', null),
        where.and([
          where('keys.status', '=', 'active'),
          where.or([where('keys.expires_at', 'is', null), where('keys.expires_at', '>', BigInt(now))]),
        ]),
      ]),
    )
    .execute();
  const invited = await rolesByAddress(
    queries,
    rows.flatMap(({ address }) => address ?? []),
  );
  return rows.map((row) => sessionOf(row, invited.get(row.address ?? ''))).filter(hasRole);
}

/** Ends a session. Does nothing if it has ended already. */
export async function endSession(queries: Kysely<Schema>, hash: string): Promise<void> {
  await queries.deleteFrom('sessions').where('hash', '=', hash).execute();
}

const hasRole = ({ role, roles }: Session): boolean => role !== 'member' || roles.size > 0;

function sessionOf(
  row: Selectable<Schema['sessions']>,
  invited: ReadonlyMap<string, WorkspaceRole> | undefined,
): Session {
  const groupRoles = rolesOf(row);
  return {
    ...fieldsOfRow(sessionFields, row),
    roles: rolesNow({ role: row.role, groupRoles }, invited),
    groupRoles,
  };
}

/** The roles of groups and invitations together: in each workspace the stronger one. Only members are invited. */
function rolesNow(
  { role: kind, groupRoles }: Pick<Session, 'role' | 'groupRoles'>,
  invited: ReadonlyMap<string, WorkspaceRole> = new Map(),
): Session['roles'] {
  if (kind !== 'member') return groupRoles;
  const ids = new Set([...groupRoles.keys(), ...invited.keys()]);
  return new Map(
    [...ids].flatMap((id): [string, RoleInWorkspace][] => {
      const role = strongest([groupRoles.get(id), invited.get(id)].filter((known) => known !== undefined));
      return role === undefined ? [] : [[id, role]];
    }),
  );
}

function rolesText(roles: Session['groupRoles']): string {
  return [...roles].map(([workspace, role]) => `${workspace}:${role}`).join(',');
}

function rolesOf({ role, workspaces }: Pick<Selectable<Schema['sessions']>, 'role' | 'workspaces'>): Session['roles'] {
  const parts = workspaces === '' ? [] : workspaces.split(',');
  return new Map(
    parts.map((part): [string, RoleInWorkspace] => {
      const [id = '', written] = part.split(':');
      return [id, role === 'key' ? 'key' : (workspaceRoles.find((known) => known === written) ?? 'viewer')];
    }),
  );
}
