import { z } from 'zod';
import { shownWorkspace } from '../../core/shown.ts';
import { errors, pageAnswer } from '../answers.ts';
import { pageQuery } from '../api/values.ts';
import * as api from '../api/workspaces.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import type { App } from '../app.ts';
import { visibleWorkspace } from '../visible.ts';

const tags = ['workspaces'];
const params = z.object({ id: z.string().meta({ description: 'Id or name of the workspace.' }) });

/** Workspaces with their balances and limits. */
export function workspaceRoutes(app: App, portal: Portal): void {
  const { store, clock } = portal;

  app.get(
    '/api/v1/workspaces',
    {
      schema: {
        tags,
        summary: 'Workspaces by name',
        querystring: pageQuery,
        response: { 200: api.workspacePage, ...errors },
      },
    },
    async (request) => {
      const { role, workspaces } = callerOf(request);
      const { limit, cursor } = request.query;
      const page = await store.pageOfWorkspaces({ limit, cursor }, role === 'admin' ? undefined : workspaces);
      return pageAnswer(page, shownWorkspace);
    },
  );

  app.post(
    '/api/v1/workspaces',
    {
      schema: {
        tags,
        summary: 'Make a workspace',
        body: api.newWorkspace,
        response: { 201: api.workspace, ...errors },
      },
    },
    async (request, reply) => {
      const { name, credit, max_in_flight: maxInFlight } = request.body;
      const by = authorship(callerOf(request), clock.now());
      const made = await store.createWorkspace({ name, credit, maxInFlight }, by);
      return reply.code(201).send(shownWorkspace(made));
    },
  );

  app.get(
    '/api/v1/workspaces/:id',
    { schema: { tags, summary: 'One workspace', params, response: { 200: api.workspace, ...errors } } },
    async (request) => shownWorkspace(await visibleWorkspace(store, callerOf(request), request.params.id)),
  );

  app.patch(
    '/api/v1/workspaces/:id',
    {
      schema: {
        tags,
        summary: 'Suspend or resume a workspace, or change its limit',
        params,
        body: api.workspaceChange,
        response: { 200: api.workspace, ...errors },
      },
    },
    async (request) => {
      const { status, max_in_flight: maxInFlight } = request.body;
      const by = authorship(callerOf(request), clock.now());
      return shownWorkspace(await store.changeWorkspace(request.params.id, { status, maxInFlight }, by));
    },
  );
}
