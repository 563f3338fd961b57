import { z } from 'zod';
import { invitationMs } from '../../books/core/local-user.ts';
import { shownUser } from '../../books/core/shown.ts';
import { Refusal, refusal } from '../../books/core/operator-refusals.ts';
import * as sessionApi from '../api/session.ts';
import * as api from '../api/users.ts';
import { type App, describing } from '../app.ts';
import { beginSession, callerOf, failedSignIn } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { sessionOfUser, shownSession } from './session.ts';

const described = describing('users');
const params = z.object({ user: z.string().max(300).meta({ description: 'Id or address of the user.' }) });

/** People who sign in with a password. Off where an identity provider is set. */
export function userRoutes(app: App, portal: Portal): void {
  const { store, clock } = portal;
  const refuseOff = (): void => {
    if (portal.oidc !== undefined) throw refusal('local_users_off');
  };

  app.get('/api/v1/users', described('Local users, by address', { 200: api.userPage }, {}), async () => ({
    data: (await store.listUsers()).map(shownUser),
    next_cursor: null,
  }));

  app.post(
    '/api/v1/users',
    described(
      'Invite a person to sign in with a password',
      { 201: api.invitedUser },
      { description: 'No mail is sent: give the link to the person.', body: api.newUser },
    ),
    async (request, reply) => {
      refuseOff();
      const { address, role, workspace, workspace_role, expires_at: until } = request.body;
      const by = authorship(callerOf(request), clock.now());
      const membership = workspace === undefined ? undefined : { workspace, role: workspace_role };
      const wanted = { address, role, membership, until: until ?? by.now + invitationMs };
      const { user, token } = await store.inviteUser(wanted, by);
      return reply.code(201).send({ ...shownUser(user), token });
    },
  );

  app.delete(
    '/api/v1/users/:user',
    described('Remove a local user, and end its sessions', { 204: z.void() }, { params }),
    async (request, reply) => {
      await store.removeUser(request.params.user, authorship(callerOf(request), clock.now()));
      return reply.code(204).send();
    },
  );

  app.post(
    '/api/v1/invitation',
    {
      bodyLimit: 8192,
      ...described(
        'Accept an invitation with a password: the answer sets the cookie of a session',
        { 201: sessionApi.session },
        { security: [], body: api.acceptance },
      ),
    },
    async (request, reply) => {
      refuseOff();
      const blockedFor = portal.failedSignIns.blockedFor(request.ip);
      if (blockedFor !== undefined) throw refusal('sign_ins_blocked', {}, { retryAfterSeconds: blockedFor });
      const { token, password } = request.body;
      const hash = await portal.passwords.hash(password);
      const user = await store.acceptInvitation({ token, password: hash }, clock.now()).catch((error: unknown) => {
        throw error instanceof Refusal && error.status === 404 ? failedSignIn(portal, request, error) : error;
      });
      const session = await beginSession(portal, { request, reply }, await sessionOfUser(portal, user));
      return reply.code(201).send(await shownSession(portal, session));
    },
  );
}
