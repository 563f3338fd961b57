import type { FastifyReply, FastifyRequest } from 'fastify';
import { type WorkspaceRole, workspaceRoles } from '../../books/core/rights.ts';
import { beginSession, isOverTls } from '../authenticate.ts';
import {
  callbackPath,
  type OidcFailure,
  OidcError,
  type OidcSignIn,
  pendingSignIn,
  type PendingSignIn,
  type Person,
} from '../oidc.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import type { Portal } from '../portal.ts';
import type { App } from '../app.ts';

export const signInPath = '/api/v1/oidc/sign-in';

/** Time limit of a sign-in with the provider. */
const pendingSeconds = 15 * 60;

/** Why a sign-in failed, for the sign-in page: `/?sign_in=…`. */
type SignInFailure = OidcFailure | 'no-workspace';

/** The redirects to the identity provider and back. Failures redirect to the sign-in page, which shows the reason. */
export function oidcRoutes(app: App, portal: Portal): void {
  app.get(signInPath, { schema: { hide: true } }, async (request, reply) => {
    const oidc = required(portal);
    try {
      await sendToProvider(oidc, { request, reply }, false);
    } catch (error) {
      failed(request, reply, error);
    }
    return reply;
  });

  app.get(callbackPath, { schema: { hide: true } }, async (request, reply) => {
    const oidc = required(portal);
    const pending = takePending(request, reply);
    if (pending === undefined) return reply.redirect(signInPage('refused'));
    try {
      const person = await oidc.finish(new URL(request.url, 'http://portal').search, pending);
      const roles = await rolesOf(person);
      const { address } = person;
      const invited = await portal.store.invitedRoles(address);
      if (!person.isAdmin && roles.size + invited.size === 0) {
        await portal.store.recordRefusedSignIn(person);
        portal.log.warn({ name: person.name, groups: person.groups }, 'sign-in refused: no workspace');
        return await reply.redirect(signInPage('no-workspace'));
      }
      await beginSession(
        portal,
        { request, reply },
        {
          role: person.isAdmin ? 'admin' : 'member',
          name: person.name,
          groupRoles: person.isAdmin ? new Map() : roles,
          address,
          keyId: undefined,
          credential: person.subject,
          logOutHint: person.idToken,
        },
      );
      return await reply.redirect('/');
    } catch (error) {
      const isStale = error instanceof OidcError && error.kind === 'keys-changed' && !pending.isRepeated;
      if (!isStale) return failed(request, reply, error);
      try {
        await sendToProvider(oidc, { request, reply }, true);
      } catch (again) {
        failed(request, reply, again);
      }
      return reply;
    }
  });

  /** Roles by the ids of the workspaces that a person's groups name. */
  async function rolesOf({ groups }: Person): Promise<ReadonlyMap<string, WorkspaceRole>> {
    const all = await portal.store.listWorkspaces();
    return new Map(
      all.flatMap((workspace): [string, WorkspaceRole][] => {
        const role = roleByGroups(workspace, groups);
        return role === undefined ? [] : [[workspace.id, role]];
      }),
    );
  }

  function failed(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
    if (!(error instanceof OidcError)) throw error;
    portal.log.warn({ kind: error.kind, reason: error.message, address: request.ip }, 'sign-in failed');
    return reply.redirect(signInPage(error.kind));
  }
}

/**
 * The role of groups in a workspace: `acme:viewer` or `ws_…:viewer`. A group with only its name or id makes an owner. No
 * name of a workspace has a colon.
 */
export function roleByGroups(
  { id, name }: { readonly id: string; readonly name: string },
  groups: readonly string[],
): WorkspaceRole | undefined {
  const isIn = (suffix: string): boolean => groups.includes(`${id}${suffix}`) || groups.includes(`${name}${suffix}`);
  return workspaceRoles.find((role) => isIn(`:${role}`) || (role === 'owner' && isIn('')));
}

function required({ oidc }: Portal): OidcSignIn {
  if (oidc === undefined) throw refusal('oidc_off');
  return oidc;
}

const signInPage = (reason: SignInFailure): string => `/?sign_in=${reason}`;

async function sendToProvider(
  oidc: OidcSignIn,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  isRepeated: boolean,
): Promise<void> {
  const { location, pending } = await oidc.begin({ isRepeated });
  reply.setCookie(cookieName(request), Buffer.from(JSON.stringify(pending)).toString('base64url'), {
    ...cookieOptions(request),
    maxAge: pendingSeconds,
  });
  reply.redirect(location.href);
}

/** Reads and removes the browser's state, so that a sign-in cannot be finished twice. */
function takePending(request: FastifyRequest, reply: FastifyReply): PendingSignIn | undefined {
  const text = request.cookies[cookieName(request)];
  reply.clearCookie(cookieName(request), cookieOptions(request));
  if (text === undefined) return undefined;
  try {
    return pendingSignIn.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    return undefined;
  }
}

/** Browsers send no strict cookie with a redirect from another site. */
function cookieOptions(request: FastifyRequest) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: isOverTls(request) } as const;
}

function cookieName(request: FastifyRequest): string {
  return isOverTls(request) ? '__Host-weir_sign_in' : 'weir_sign_in';
}
