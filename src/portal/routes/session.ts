import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Session } from '../../books/core/administration.ts';
import { credentialOfUser, type LocalUser } from '../../books/core/local-user.ts';
import { memberAddress } from '../../books/core/membership.ts';
import { messageOf } from '../../core/failure.ts';
import { isSameSecret } from '../../core/internal-token.ts';
import { allowsIn, accessRights, type RoleInWorkspace, seenBy } from '../../books/core/rights.ts';
import * as api from '../api/session.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { beginSession, callerOf, failedSignIn, leaveSession } from '../authenticate.ts';
import { adminTokenName, type CallerIdentity, identityOfSession } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { digestOf } from '../secrets.ts';
import { type App, describing } from '../app.ts';
import { signInPath } from './oidc.ts';

const described = describing('session');

const noRoles: ReadonlyMap<string, RoleInWorkspace> = new Map();

/** Signing in, the current session, and signing out. */
export function sessionRoutes(app: App, portal: Portal): void {
  app.get('/api/v1/sign-in', described('The ways to sign in', { 200: api.signInWays }, { security: [] }), async () => {
    const { oidc, store } = portal;
    return {
      token: true as const,
      key: true as const,
      password: oidc === undefined && (await store.hasUsers()),
      oidc: oidc === undefined ? null : { name: oidc.name, url: signInPath },
    };
  });

  app.post(
    '/api/v1/session',
    {
      // Callers without a session send this body. The longest token with its JSON needs a quarter of the limit.
      bodyLimit: 4096,
      ...described(
        'Sign in: the answer sets the session cookie',
        { 201: api.session },
        { security: [], body: api.signIn },
      ),
    },
    async (request, reply) => {
      const given = request.body;
      const person = 'password' in given ? await recognizeUser(portal, request, given) : await recognize(portal, given);
      if (person === undefined) throw failedSignIn(portal, request, refusal('sign_in_unknown'));
      const session = await beginSession(portal, { request, reply }, person);
      return reply.code(201).send(await shownSession(portal, session));
    },
  );

  app.get('/api/v1/session', described('The current session', { 200: api.session }, {}), (request) =>
    shown(portal, callerOf(request)),
  );

  app.delete(
    '/api/v1/session',
    described(
      'Sign out; 200 when the identity provider has a session to end as well',
      { 200: api.signedOut, 204: z.void() },
      {},
    ),
    async (request, reply) => {
      const { session } = callerOf(request);
      if (session !== undefined) await leaveSession(portal, { request, reply }, session);
      const logOutUrl = await providerLogOut(portal, session);
      return logOutUrl === undefined ? reply.code(204).send() : reply.code(200).send({ log_out_url: logOutUrl.href });
    },
  );
}

/** The address at which the provider ends its session. Undefined: it has none, or the provider does not answer. */
async function providerLogOut({ oidc, log }: Portal, session: Session | undefined): Promise<URL | undefined> {
  if (session?.logOutHint === undefined) return undefined;
  try {
    return await oidc?.logOutUrl(session.logOutHint);
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'log-out at the identity provider failed');
    return undefined;
  }
}

type Person = Pick<Session, 'role' | 'name' | 'groupRoles' | 'address' | 'keyId' | 'credential' | 'logOutHint'>;

/**
 * A session of a local user. Its roles in workspaces come from invitations of its address. Throws a `Refusal` for a member
 * of no workspace.
 */
export async function sessionOfUser({ store }: Portal, user: LocalUser): Promise<Person> {
  const { address, role } = user;
  if (role === 'member' && (await store.invitedRoles(address)).size === 0) throw refusal('user_without_workspace');
  return {
    ...{ role, name: address, groupRoles: noRoles, address },
    ...{ keyId: undefined, credential: credentialOfUser(user), logOutHint: undefined },
  };
}

/**
 * The local user with an address and a password. Throws a `Refusal` if there is none. Unlike a token, a password can be guessed, and
 * checking one costs: after too many failures of a user, or from an address, none is checked.
 */
async function recognizeUser(
  portal: Portal,
  request: FastifyRequest,
  { address, password }: Extract<api.SignInObject, { readonly password: string }>,
): Promise<Person> {
  const { store, passwords, failedPasswords, failedSignIns } = portal;
  if (portal.oidc !== undefined) throw refusal('local_users_off');
  const name = memberAddress(address) ?? '';
  const blockedFor = failedPasswords.blockedFor(name) ?? failedSignIns.blockedFor(request.ip);
  if (blockedFor !== undefined) throw refusal('sign_ins_blocked', {}, { retryAfterSeconds: blockedFor });
  const found = await store.findUser(address);
  const isRight = await passwords.isRight(password, found?.password);
  if (isRight && found !== undefined) return sessionOfUser(portal, found.user);
  failedPasswords.failed(name);
  throw failedSignIn(portal, request, refusal('password_wrong'));
}

/** The person of a credential. Undefined: the credential is not valid. */
async function recognize(
  { adminToken, store, clock }: Portal,
  given: Exclude<api.SignInObject, { readonly password: string }>,
): Promise<Person | undefined> {
  const noPerson = {
    groupRoles: noRoles,
    address: undefined,
    keyId: undefined,
    credential: undefined,
    logOutHint: undefined,
  };
  if ('token' in given) {
    if (!isSameSecret(given.token, adminToken)) return undefined;
    return { ...noPerson, role: 'admin', name: adminTokenName, credential: digestOf(adminToken) };
  }
  const now = clock.now();
  const { key, workspace } = (await store.findCredential(given.key, now)) ?? {};
  if (key === undefined || workspace === undefined) return undefined;
  if (key.status !== 'active' || (key.expiresAt ?? Infinity) <= now) return undefined;
  return { ...noPerson, role: 'key', name: key.id, groupRoles: new Map([[workspace.id, 'key']]), keyId: key.id };
}

export const shownSession = (portal: Portal, session: Session): Promise<api.SessionObject> =>
  shown(portal, identityOfSession(session));

async function shown(
  { store, gatewayUrl, hasIdentities }: Portal,
  { role, name, grant, keyId, session }: CallerIdentity,
): Promise<api.SessionObject> {
  const ids = seenBy(grant) ?? [];
  const found = await Promise.all(ids.map((id) => store.findWorkspace(id)));
  return {
    role,
    name,
    workspaces: found.map((workspace) => ({
      ...{ id: workspace.id, name: workspace.name },
      role: grant.kind === 'roles' ? (grant.roles.get(workspace.id) ?? null) : null,
      may: accessRights.filter((right) => allowsIn(grant, right, workspace.id)),
    })),
    key_id: keyId ?? null,
    csrf_token: session?.csrfToken ?? null,
    expires_at: session === undefined ? null : new Date(session.expiresAt).toISOString(),
    identities: hasIdentities,
    gateway_url: gatewayUrl ?? null,
  };
}
