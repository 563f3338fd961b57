import type { Actor, Authorship, Session } from '../core/administration.ts';

/** The caller of a request. */
export interface Caller {
  readonly role: Session['role'];
  readonly name: string;
  readonly actor: Actor;
  /** Ids of the workspaces of a member or a key. An admin sees all. */
  readonly workspaces: readonly string[];
  readonly keyId: string | undefined;
  /** Undefined for a Bearer token. */
  readonly session: Session | undefined;
}

/** Whether a session began with the admin token. An admin of an identity provider is a person, who may have any name. */
export function isOfToken({ role, logOutHint }: Session): boolean {
  return role === 'admin' && logOutHint === undefined;
}

export function callerOfSession(session: Session): Caller {
  const { role, name, workspaces, keyId } = session;
  const kind = isOfToken(session) ? 'admin-token' : 'portal-user';
  return { role, name, actor: { kind, name }, workspaces, keyId, session };
}

/** The caller that sends the admin token. */
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
