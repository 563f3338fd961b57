import { z } from 'zod';
import { workspaceFields } from '../../core/account.ts';
import { seenBy } from '../../books/core/rights.ts';
import { valuesOfBody } from '../api/account-shapes.ts';
import { pageQuery } from '../api/values.ts';
import * as api from '../api/workspaces.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';
import { visibleWorkspace } from '../visible.ts';
import { workspaceObject, workspaceObjects } from '../workspace-objects.ts';

const described = describing('workspaces');

const params = z.object({ id: z.string().meta({ description: 'Id or name of the workspace.' }) });

/** Workspaces with their balances and limits. */
export function workspaceRoutes(app: App, portal: Portal): void {
  const { store, clock } = portal;

  app.get(
    '/api/v1/workspaces',
    described('Workspaces by name', { 200: api.workspacePage }, { querystring: pageQuery }),
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await store.pageOfWorkspaces({ limit, cursor }, seenBy(callerOf(request).grant));
      return { data: await workspaceObjects(store, page.items), next_cursor: page.next ?? null };
    },
  );

  app.post(
    '/api/v1/workspaces',
    described('Create a workspace', { 201: api.workspace }, { body: api.newWorkspace }),
    async (request, reply) => {
      const { name, credit, ...body } = request.body;
      const by = authorship(callerOf(request), clock.now());
      const made = await store.createWorkspace({ name, credit, ...valuesOfBody(workspaceFields, body) }, by);
      return reply.code(201).send(await workspaceObject(store, made));
    },
  );

  app.get('/api/v1/workspaces/:id', described('One workspace', { 200: api.workspace }, { params }), async (request) =>
    workspaceObject(store, await visibleWorkspace(store, callerOf(request), request.params.id)),
  );

  app.patch(
    '/api/v1/workspaces/:id',
    described(
      'Suspend or resume a workspace, or change its limits',
      { 200: api.workspace },
      { params, body: api.workspaceChange },
    ),
    async (request) => {
      const wanted = valuesOfBody(workspaceFields, request.body);
      const caller = callerOf(request);
      const { id } = await visibleWorkspace(store, caller, request.params.id);
      const by = authorship(caller, clock.now());
      return workspaceObject(store, await store.changeWorkspace(id, wanted, by));
    },
  );
}
