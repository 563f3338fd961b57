import { type AuditFilter, cutPage } from '../../core/administration.ts';
import { shownAuditEntry } from '../../core/shown.ts';
import { errors, pageAnswer } from '../answers.ts';
import * as api from '../api/audit.ts';
import { callerOf } from '../authenticate.ts';
import type { Portal } from '../portal.ts';
import type { App } from '../app.ts';
import { workspaceAsked } from '../visible.ts';

/** The changes of accounts, with author and time. */
export function auditRoutes(app: App, { store }: Portal): void {
  app.get(
    '/api/v1/audit',
    {
      schema: {
        tags: ['audit'],
        summary: 'Changes of accounts, newest first',
        querystring: api.auditQuery,
        response: { 200: api.auditPage, ...errors },
      },
    },
    async (request) => {
      const { workspace, from, to, limit, cursor } = request.query;
      const filter: AuditFilter = {
        workspaceId: await workspaceAsked(store, callerOf(request), workspace),
        since: from,
        until: to,
        before: cursor,
      };
      const found = await store.listAudit(filter, limit + 1);
      return pageAnswer(
        cutPage(found, limit, ({ id }) => String(id)),
        (entry) => ({ ...shownAuditEntry(entry), actor: { ...entry.actor } }),
      );
    },
  );
}
