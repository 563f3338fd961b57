import type { FastifyReply, FastifyRequest } from 'fastify';
import { isSameSecret } from '../core/internal-token.ts';
import { type AccessRight, allowsSomewhere, refusalText } from '../books/core/rights.ts';
import { type ServiceAccount, stateOfAccount, tokenPrefix } from '../books/core/service-account.ts';
import { accessTo } from './access.ts';
import {
  type Caller,
  type CallerIdentity,
  identityOfAccount,
  identityOfSession,
  identityOfToken,
  isOfToken,
} from './callers.ts';
import { rightsOfBody } from './field-rights.ts';
import type { Portal } from './portal.ts';
import { type Refusal, refusal } from '../books/core/operator-refusals.ts';
import { digestOf, newToken } from './secrets.ts';
import { isOfLocalUser } from '../books/core/local-user.ts';
import type { NewSession, Session } from '../books/core/administration.ts';

/** How long a session lasts. */
const sessionMs = 12 * 3_600_000;
const csrfHeader = 'x-csrf-token';

const callers = new WeakMap<FastifyRequest, Caller>();

/** The caller of a request. Throws for a route that needs no sign-in. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw refusal('not_signed_in');
  return caller;
}

/**
 * Runs before each route of the API, before the body is read. Identifies the caller and checks the access. Resolves to undefined for a
 * route that needs no sign-in.
 */
export async function authenticate(portal: Portal, request: FastifyRequest): Promise<Caller | undefined> {
  const route = `${request.method} ${request.routeOptions.url ?? ''}`;
  const access = accessTo(route);
  if (access === undefined) throw refusal('path_not_found');
  if (access === 'everyone') return undefined;
  const identity = await identify(portal, request);
  const rights = access === 'signed-in' ? [] : [access];
  checkSomewhere(identity, rights);
  if (identity.session !== undefined) checkCsrf(request, identity.session);
  const caller = { ...identity, rights };
  callers.set(request, caller);
  return caller;
}

/** Runs after the body was read. Adds the rights that its fields need to those of the caller's request, and checks them. */
export async function authorizeBody(request: FastifyRequest): Promise<void> {
  const caller = callers.get(request);
  if (caller === undefined) return;
  const { url = '', schema } = request.routeOptions;
  const ofFields = rightsOfBody(`${request.method} ${url}`, schema?.body, request.body);
  const rights = [...new Set([...caller.rights, ...ofFields])];
  checkSomewhere(caller, rights);
  callers.set(request, { ...caller, rights });
}

function checkSomewhere({ grant }: CallerIdentity, rights: readonly AccessRight[]): void {
  const missing = rights.find((right) => !allowsSomewhere(grant, right));
  if (missing !== undefined) throw refusal('right_missing', { why: refusalText(grant, missing) });
}

/** True: the request has the admin token. False: it has no token. Throws for another token, and counts it as a failed sign-in. */
function hasAdminToken(portal: Portal, request: FastifyRequest): boolean {
  const token = bearerOf(request);
  if (token === undefined) return false;
  // The token is compared first, so that failures of others behind the same address never block the right token.
  if (isSameSecret(token, portal.adminToken)) return true;
  throw failedSignIn(portal, request, refusal('token_unknown'));
}

/** For a route outside the API, where only tokens count: throws unless the request has one with this right. */
export async function checkToken(portal: Portal, request: FastifyRequest, right: AccessRight): Promise<void> {
  const identity = await identityOfBearer(portal, request);
  if (identity === undefined) throw refusal('token_missing', { right });
  checkSomewhere(identity, [right]);
}

async function identityOfBearer(portal: Portal, request: FastifyRequest): Promise<CallerIdentity | undefined> {
  const token = bearerOf(request);
  const account = token?.startsWith(tokenPrefix) ? await accountOf(portal, request, token) : undefined;
  if (account !== undefined) return identityOfAccount(account);
  return hasAdminToken(portal, request) ? identityOfToken : undefined;
}

async function identify(portal: Portal, request: FastifyRequest): Promise<CallerIdentity> {
  const identity = await identityOfBearer(portal, request);
  if (identity !== undefined) return identity;
  const session = await sessionOf(portal, request);
  if (session !== undefined) return identityOfSession(session);
  throw refusal('not_signed_in');
}

function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** The service account of a token. Undefined: it is no such token. Throws for a token that works no more. */
async function accountOf(portal: Portal, request: FastifyRequest, token: string): Promise<ServiceAccount | undefined> {
  const now = portal.clock.now();
  const account = await portal.store.findServiceAccount(token, now);
  if (account === undefined) return undefined;
  const state = stateOfAccount(account, now);
  if (state === 'active') return account;
  const why = state === 'revoked' ? 'was revoked' : `expired at ${new Date(account.expiresAt).toISOString()}`;
  throw failedSignIn(portal, request, refusal('service_account_ended', { name: account.name, why }));
}

/** Counts a failed sign-in, and returns its refusal; after too many of them, the refusal of a blocked address. */
export function failedSignIn(portal: Portal, request: FastifyRequest, refused: Refusal): Refusal {
  const blockedFor = portal.failedSignIns.blockedFor(request.ip);
  portal.failedSignIns.failed(request.ip);
  if (blockedFor === undefined) return refused;
  portal.log.warn({ address: request.ip }, 'address blocked: too many failed sign-ins');
  return refusal('sign_ins_blocked', {}, { retryAfterSeconds: blockedFor });
}

/** Checks the token of a change with a cookie. It proves that a page of the portal sent the change. */
function checkCsrf(request: FastifyRequest, session: Session): void {
  if (['GET', 'HEAD'].includes(request.method)) return;
  const given = request.headers[csrfHeader];
  if (typeof given === 'string' && isSameSecret(given, session.csrfToken)) return;
  throw refusal('csrf_token_missing', { header: csrfHeader });
}

/** The session of the request's cookie, read from the database. Undefined: no cookie, or its session has ended. */
async function sessionOf(portal: Portal, request: FastifyRequest): Promise<Session | undefined> {
  const secret = request.cookies[cookieName(request)];
  if (secret === undefined || secret.length > 100) return undefined;
  const hash = digestOf(secret);
  return (await currentSessions(portal, [hash])).get(hash);
}

/** Sessions by the digests of their secrets. Ended sessions are missing. */
export async function currentSessions(
  { store, clock, adminToken, oidc }: Pick<Portal, 'store' | 'clock' | 'adminToken' | 'oidc'>,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, Session>> {
  const found = await store.findSessions(hashes, clock.now());
  const digest = digestOf(adminToken);
  // Local users are off with an identity provider. A new admin token ends the sessions of the old one. People of an identity provider may have the same name as the token.
  const isCurrent = (session: Session): boolean =>
    isOfLocalUser(session) ? oidc === undefined : !isOfToken(session) || session.credential === digest;
  return new Map(found.filter(isCurrent).map((session) => [session.hash, session]));
}

/** Begins a session and sets its cookie. */
export async function beginSession(
  portal: Portal,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  person: Pick<Session, 'role' | 'name' | 'groupRoles' | 'address' | 'keyId' | 'credential' | 'logOutHint'>,
): Promise<Session> {
  const secret = newToken();
  const createdAt = portal.clock.now();
  const wanted: NewSession = {
    ...person,
    hash: digestOf(secret),
    csrfToken: newToken(),
    createdAt,
    expiresAt: createdAt + sessionMs,
  };
  const session = await portal.store.createSession(wanted);
  if (session === undefined) throw refusal('key_ended');
  reply.setCookie(cookieName(request), secret, {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: isOverTls(request),
    maxAge: Math.ceil((session.expiresAt - createdAt) / 1000),
  });
  return session;
}

export async function leaveSession(
  portal: Portal,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  session: Session,
): Promise<void> {
  await portal.store.endSession(session.hash);
  portal.events.endSession(session.hash);
  const options = { path: '/', httpOnly: true, sameSite: 'strict', secure: isOverTls(request) } as const;
  reply.clearCookie(cookieName(request), options);
}

/** Whether the caller uses TLS: by the connection, or by the report of a trusted proxy. */
export function isOverTls({ protocol }: FastifyRequest): boolean {
  return protocol === 'https';
}

/** Browsers accept a cookie with this prefix only from this host over HTTPS. */
function cookieName(request: FastifyRequest): string {
  return isOverTls(request) ? '__Host-weir_session' : 'weir_session';
}
