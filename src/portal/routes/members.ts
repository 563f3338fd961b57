import { z } from 'zod';
import { shownMember } from '../../books/core/shown.ts';
import * as api from '../api/members.ts';
import { type App, describing } from '../app.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { visibleWorkspace } from '../visible.ts';

const described = describing('members');

const workspaceParam = z.string().meta({ description: 'Id or name of the workspace.' });
const ofWorkspace = z.object({ id: workspaceParam });
const params = z.object({ id: workspaceParam, member: z.string().meta({ description: 'Id of the membership.' }) });

/** The people of a workspace with their roles. */
export function memberRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/workspaces/:id/members',
    described('Members of a workspace, owners first', { 200: api.memberPage }, { params: ofWorkspace }),
    async (request) => {
      const { id } = await visibleWorkspace(store, callerOf(request), request.params.id);
      return { data: (await store.listMembers(id)).map(shownMember), next_cursor: null };
    },
  );

  app.post(
    '/api/v1/workspaces/:id/members',
    described(
      'Invite an address: the role holds from the first sign-in with it on',
      { 201: api.member },
      { description: 'No mail is sent.', params: ofWorkspace, body: api.newMember },
    ),
    async (request, reply) => {
      const caller = callerOf(request);
      const { id } = await visibleWorkspace(store, caller, request.params.id);
      const { address, role } = request.body;
      const made = await store.inviteMember(id, { address, role }, authorship(caller, clock.now()));
      return reply.code(201).send(shownMember(made));
    },
  );

  app.patch(
    '/api/v1/workspaces/:id/members/:member',
    described('Change the role of an invited member', { 200: api.member }, { params, body: api.memberChange }),
    async (request) => {
      const caller = callerOf(request);
      const { id: workspaceId } = await visibleWorkspace(store, caller, request.params.id);
      const by = authorship(caller, clock.now());
      const { member: id } = request.params;
      return shownMember(await store.setMemberRole({ workspaceId, id }, request.body.role, by));
    },
  );

  app.delete(
    '/api/v1/workspaces/:id/members/:member',
    described('Remove an invited member, or withdraw the invitation', { 204: z.void() }, { params }),
    async (request, reply) => {
      const caller = callerOf(request);
      const { id: workspaceId } = await visibleWorkspace(store, caller, request.params.id);
      await store.removeMember({ workspaceId, id: request.params.member }, authorship(caller, clock.now()));
      return reply.code(204).send();
    },
  );
}
