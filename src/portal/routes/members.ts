import { z } from 'zod';
import { shownMember } from '../../books/core/shown.ts';
import { errors } from '../answers.ts';
import * as api from '../api/members.ts';
import type { App } from '../app.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { visibleWorkspace } from '../visible.ts';

const tags = ['members'];
const workspaceParam = z.string().meta({ description: 'Id or name of the workspace.' });
const ofWorkspace = z.object({ id: workspaceParam });
const params = z.object({ id: workspaceParam, member: z.string().meta({ description: 'Id of the membership.' }) });

/** The people of a workspace with their roles. */
export function memberRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/workspaces/:id/members',
    {
      schema: {
        tags,
        summary: 'Members of a workspace, owners first',
        params: ofWorkspace,
        response: { 200: api.memberPage, ...errors },
      },
    },
    async (request) => {
      const { id } = await visibleWorkspace(store, callerOf(request), request.params.id);
      return { data: (await store.listMembers(id)).map(shownMember), next_cursor: null };
    },
  );

  app.post(
    '/api/v1/workspaces/:id/members',
    {
      schema: {
        tags,
        summary: 'Invite an address: the role holds from the first sign-in with it on',
        description: 'No mail is sent.',
        params: ofWorkspace,
        body: api.newMember,
        response: { 201: api.member, ...errors },
      },
    },
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
    {
      schema: {
        tags,
        summary: 'Change the role of an invited member',
        params,
        body: api.memberChange,
        response: { 200: api.member, ...errors },
      },
    },
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
    {
      schema: {
        tags,
        summary: 'Remove an invited member, or withdraw the invitation',
        params,
        response: { 204: z.void(), ...errors },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { id: workspaceId } = await visibleWorkspace(store, caller, request.params.id);
      await store.removeMember({ workspaceId, id: request.params.member }, authorship(caller, clock.now()));
      return reply.code(204).send();
    },
  );
}
