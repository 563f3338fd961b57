import { z } from 'zod';
import { shownCredit } from '../../books/core/shown.ts';
import { pageAnswer } from '../answers.ts';
import { pageQuery } from '../api/values.ts';
import * as api from '../api/workspaces.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';
import { visibleWorkspace } from '../visible.ts';
import { workspaceObject } from '../workspace-objects.ts';

const described = describing('credits');

const params = z.object({ id: z.string().meta({ description: 'Id or name of the workspace.' }) });
const headers = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'Any text, new for each credit. A second request with the same text adds nothing.' }),
});

/** Money put into workspaces, and corrections. */
export function creditRoutes(app: App, portal: Portal): void {
  const { store, clock } = portal;

  app.get(
    '/api/v1/workspaces/:id/credits',
    described('Credits and corrections, newest first', { 200: api.creditPage }, { params, querystring: pageQuery }),
    async (request) => {
      const { id } = await visibleWorkspace(store, callerOf(request), request.params.id);
      const { limit, cursor } = request.query;
      return pageAnswer(await store.pageOfCredits(id, { limit, cursor }), shownCredit);
    },
  );

  app.post(
    '/api/v1/workspaces/:id/credits',
    described('Add a credit, or correct the balance', { 201: api.credited }, { params, headers, body: api.newCredit }),
    async (request, reply) => {
      const { amount, note } = request.body;
      const wanted = { amount, note, idempotencyKey: request.headers['idempotency-key'] };
      const caller = callerOf(request);
      const { id } = await visibleWorkspace(store, caller, request.params.id);
      const { workspace, credit } = await store.addCredit(id, wanted, authorship(caller, clock.now()));
      return reply.code(201).send({ credit: shownCredit(credit), workspace: await workspaceObject(store, workspace) });
    },
  );
}
