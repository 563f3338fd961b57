import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Key } from '../../core/account.ts';
import type { Session } from '../../core/administration.ts';
import { type RoleInWorkspace, workspaceRoles } from '../../core/rights.ts';
import type { Schema } from '../databases/schema.ts';

/**
 * Begins a session, and deletes expired ones. The session of a key ends with the key's expiry at the latest. Undefined:
 * the key is not active or has expired, and no session was begun.
 */
export async function createSession(queries: Kysely<Schema>, wanted: Session): Promise<Session | undefined> {
  return queries.transaction().execute(async (transaction) => {
    const session = await limitedByKey(transaction, wanted);
    if (session === undefined) return undefined;
    await transaction.deleteFrom('sessions').where('expires_at', '<=', BigInt(session.createdAt)).execute();
    await transaction
      .insertInto('sessions')
      .values({
        hash: session.hash,
        role: session.role,
        name: session.name,
        workspaces: rolesText(session.roles),
        key_id: session.keyId ?? null,
        credential: session.credential ?? null,
        csrf_token: session.csrfToken,
        log_out_hint: session.logOutHint ?? null,
        created_at: BigInt(session.createdAt),
        expires_at: BigInt(session.expiresAt),
      })
      .execute();
    return session;
  });
}

/**
 * Ends the session with its key's expiry at the latest. Undefined: the key is not active or has expired. The update
 * locks the key until the session is written. So a suspension at the same moment comes first and is seen here, or comes
 * later and ends the session.
 */
async function limitedByKey(transaction: Transaction<Schema>, session: Session): Promise<Session | undefined> {
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
 * Finds sessions by the SHA-256 of their secrets. A session is missing if it has expired or was ended, or if its key is
 * not active or has expired. Every request reads its session again, so that a session ends at once everywhere.
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
  return rows.map(sessionOf);
}

/** Ends a session. Does nothing if it has ended already. */
export async function endSession(queries: Kysely<Schema>, hash: string): Promise<void> {
  await queries.deleteFrom('sessions').where('hash', '=', hash).execute();
}

function sessionOf(row: Selectable<Schema['sessions']>): Session {
  return {
    hash: row.hash,
    role: row.role,
    name: row.name,
    roles: rolesOf(row),
    keyId: row.key_id ?? undefined,
    credential: row.credential ?? undefined,
    csrfToken: row.csrf_token,
    logOutHint: row.log_out_hint ?? undefined,
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
  };
}

function rolesText(roles: Session['roles']): string {
  return [...roles].map(([workspace, role]) => `${workspace}:${role}`).join(',');
}

/** Sessions of earlier versions have no roles: their members could change every key, as owners can. */
function rolesOf({ role, workspaces }: Pick<Selectable<Schema['sessions']>, 'role' | 'workspaces'>): Session['roles'] {
  const parts = workspaces === '' ? [] : workspaces.split(',');
  return new Map(
    parts.map((part): [string, RoleInWorkspace] => {
      const [id = '', written] = part.split(':');
      if (role === 'key') return [id, 'key'];
      return [id, written === undefined ? 'owner' : (workspaceRoles.find((known) => known === written) ?? 'viewer')];
    }),
  );
}
