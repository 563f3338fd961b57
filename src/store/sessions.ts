import type { Kysely, Selectable } from 'kysely';
import type { Session } from '../core/administration.ts';
import type { Schema } from './schema.ts';

/** Begins a session, and forgets those that have expired. */
export async function createSession(queries: Kysely<Schema>, session: Session): Promise<void> {
  await queries.deleteFrom('sessions').where('expires_at', '<=', BigInt(session.createdAt)).execute();
  await queries
    .insertInto('sessions')
    .values({
      hash: session.hash,
      role: session.role,
      name: session.name,
      workspaces: session.workspaces.join(','),
      key_id: session.keyId ?? null,
      credential: session.credential ?? null,
      csrf_token: session.csrfToken,
      log_out_hint: session.logOutHint ?? null,
      created_at: BigInt(session.createdAt),
      expires_at: BigInt(session.expiresAt),
    })
    .execute();
}

/**
 * Finds sessions by the SHA-256 of their secrets. Those are missing that are not good any more: they have expired or were ended, or
 * their key is not good. Read anew for every request, so that a session ends at once everywhere.
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

/** Ends a session. Harmless when it has ended. */
export async function endSession(queries: Kysely<Schema>, hash: string): Promise<void> {
  await queries.deleteFrom('sessions').where('hash', '=', hash).execute();
}

function sessionOf(row: Selectable<Schema['sessions']>): Session {
  return {
    hash: row.hash,
    role: row.role,
    name: row.name,
    workspaces: row.workspaces === '' ? [] : row.workspaces.split(','),
    keyId: row.key_id ?? undefined,
    credential: row.credential ?? undefined,
    csrfToken: row.csrf_token,
    logOutHint: row.log_out_hint ?? undefined,
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
  };
}
