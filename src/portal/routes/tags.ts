import { z } from 'zod';
import { shownTagBudget } from '../../books/core/shown.ts';
import * as api from '../api/tags.ts';
import { type App, describing } from '../app.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';
import { visibleWorkspace, workspaceAsked } from '../visible.ts';

const described = describing('tags');

const params = z.object({ id: z.string().meta({ description: 'Id or name of the workspace.' }) });

/** Tags of requests, and their budgets. */
export function tagRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/tags',
    described('The names of tags', { 200: api.tagNames }, { querystring: api.tagNamesQuery }),
    async (request) => {
      const workspaceId = await workspaceAsked(store, callerOf(request), request.query.workspace);
      return { data: [...(await store.listTagNames(workspaceId))], next_cursor: null };
    },
  );

  app.get(
    '/api/v1/workspaces/:id/tag-budgets',
    described('The budgets of tags', { 200: api.tagBudgets }, { params }),
    async (request) => {
      const { id } = await visibleWorkspace(store, callerOf(request), request.params.id);
      return { data: (await store.listTagBudgets(id, clock.now())).map(shownTagBudget), next_cursor: null };
    },
  );

  app.post(
    '/api/v1/workspaces/:id/tag-budgets',
    described('Set the budget of a tag, or take it away', { 200: api.tagBudgets }, { params, body: api.newTagBudget }),
    async (request) => {
      const caller = callerOf(request);
      const { id } = await visibleWorkspace(store, caller, request.params.id);
      const { tag, budget, thresholds } = request.body;
      const wanted = {
        tag,
        budget: budget ?? undefined,
        thresholds: thresholds === null ? 'default' : thresholds,
      } as const;
      const set = await store.setTagBudget(id, wanted, authorship(caller, clock.now()));
      return { data: set.map(shownTagBudget), next_cursor: null };
    },
  );
}
