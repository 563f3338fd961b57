import type { Actor, Authorship, Session } from '../core/administration.ts';

/** Who makes a request. */
export interface Caller {
  readonly role: Session['role'];
  readonly name: string;
  readonly actor: Actor;
  /** Ids of the workspaces that belong to a member or a key; an admin sees all. */
  readonly workspaces: readonly string[];
  readonly keyId: string | undefined;
  /** Undefined for a Bearer token. */
  readonly session: Session | undefined;
}

/** Whether a session was begun with the admin token. An admin whom an identity provider vouches for is a person, of any name. */
export function isOfToken({ role, logOutHint }: Session): boolean {
  return role === 'admin' && logOutHint === undefined;
}

export function callerOfSession(session: Session): Caller {
  const { role, name, workspaces, keyId } = session;
  const kind = isOfToken(session) ? 'admin-token' : 'portal-user';
  return { role, name, actor: { kind, name }, workspaces, keyId, session };
}

/** Whoever has the admin token. */
export const adminTokenName = 'admin token';

export const callerWithToken: Caller = {
  role: 'admin',
  name: adminTokenName,
  actor: { kind: 'admin-token', name: adminTokenName },
  workspaces: [],
  keyId: undefined,
  session: undefined,
};

export function authorship(caller: Caller, now: number): Authorship {
  return { actor: caller.actor, now };
}

export function maySee(caller: Caller, workspaceId: string): boolean {
  return caller.role === 'admin' || caller.workspaces.includes(workspaceId);
}
