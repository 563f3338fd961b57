import type { Actor, Authorship, Session } from '../books/core/administration.ts';
import { isOfLocalUser } from '../books/core/local-user.ts';
import type { Grant, AccessRight } from '../books/core/rights.ts';
import type { ServiceAccount } from '../books/core/service-account.ts';

/** A caller, whatever it does. */
export interface CallerIdentity {
  readonly role: Session['role'] | 'service-account';
  readonly name: string;
  readonly actor: Actor;
  /** What the caller may do, and in which workspaces. */
  readonly grant: Grant;
  readonly keyId: string | undefined;
  /** Undefined for a Bearer token. */
  readonly session: Session | undefined;
}

/** The caller of a request. */
export interface Caller extends CallerIdentity {
  /** The rights that the route and the fields of the body need. Empty: the request is about the caller alone. */
  readonly rights: readonly AccessRight[];
}

/** Whether a session began with the admin token. Other admins are people, who may have any name. */
export function isOfToken(session: Session): boolean {
  return session.role === 'admin' && session.logOutHint === undefined && !isOfLocalUser(session);
}

export function identityOfSession(session: Session): CallerIdentity {
  const { role, name, roles, keyId } = session;
  const kind = isOfToken(session) ? 'admin-token' : 'portal-user';
  const grant: Grant = role === 'admin' ? { kind: 'admin' } : { kind: 'roles', roles };
  return { role, name, actor: { kind, name }, grant, keyId, session };
}

/** The caller that sends the admin token. */
export const adminTokenName = 'admin token';

export const identityOfToken: CallerIdentity = {
  role: 'admin',
  name: adminTokenName,
  actor: { kind: 'admin-token', name: adminTokenName },
  grant: { kind: 'admin' },
  keyId: undefined,
  session: undefined,
};

export function identityOfAccount({ name, scopes, workspaces }: ServiceAccount): CallerIdentity {
  return {
    ...{ role: 'service-account', name, actor: { kind: 'service-account', name } },
    grant: { kind: 'scopes', scopes, workspaces },
    ...{ keyId: undefined, session: undefined },
  };
}

export function authorship(caller: CallerIdentity, now: number): Authorship {
  return { actor: caller.actor, now };
}

/**
 * The person or program behind a caller, in all of its sessions, for what one of them may hold at once. By the credential
 * with which it has proved itself: a person of an identity provider may choose a name that is another person's.
 */
export function provenIdentity({ role, name, session }: CallerIdentity): string {
  return `${role} ${session?.credential ?? name}`;
}

/** A person, by its subject at the identity provider or as a local user; undefined for other callers. */
export function subjectOf({ session }: CallerIdentity): string | undefined {
  return session === undefined || session.role === 'key' || isOfToken(session) ? undefined : session.credential;
}
