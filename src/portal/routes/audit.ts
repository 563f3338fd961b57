import { actorsOf, type AuditEntry, type AuditFilter, cutPage } from '../../books/core/administration.ts';
import { shownAuditEntry } from '../../books/core/shown.ts';
import { pageAnswer } from '../answers.ts';
import * as api from '../api/audit.ts';
import { callerOf } from '../authenticate.ts';
import { type CsvRow, sendCsv, jsonOrCsv, wantsCsv } from '../csv.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';
import { workspaceAsked } from '../visible.ts';

const described = describing('audit');

/** The changes of accounts, with author and time. */
export function auditRoutes(app: App, { store }: Portal): void {
  app.get(
    '/api/v1/audit',
    described(
      'Changes of accounts, newest first; CSV with `Accept: text/csv`',
      {
        200: jsonOrCsv(api.auditPage, { description: 'The changes.', csv: 'All changes; before and after as JSON.' }),
      },
      { description: 'CSV has all changes of the filters.', querystring: api.auditQuery },
    ),
    async (request, reply) => {
      const { workspace, by, actor, action, object, from, to, limit, cursor } = request.query;
      const filter: AuditFilter = {
        workspaceId: await workspaceAsked(store, callerOf(request), workspace),
        actorKinds: by && actorsOf(by),
        actorName: actor,
        action,
        objectId: object,
        since: from,
        until: to,
      };
      if (wantsCsv(request)) return sendCsv(reply, { file: 'audit.csv', columns: csvColumns, rows: csvRows(filter) });
      const found = await store.listAudit({ ...filter, before: cursor }, limit + 1);
      const names = await store.keyNames([...new Set(found.flatMap(keyIdOf))]);
      return reply.send(
        pageAnswer(
          cutPage(found, limit, ({ id }) => String(id)),
          (entry) => ({
            ...shownAuditEntry(entry),
            object_name: names.get(entry.objectId) ?? null,
            actor: { ...entry.actor },
          }),
        ),
      );
    },
  );

  async function* csvRows(filter: AuditFilter): AsyncGenerator<readonly CsvRow[]> {
    let before: number | undefined;
    do {
      const page = await store.listAudit({ ...filter, before }, csvPage);
      yield page.map(csvRow);
      before = page.length < csvPage ? undefined : page.at(-1)?.id;
    } while (before !== undefined);
  }
}

const keyIdOf = ({ action, objectId }: AuditEntry) => (action.startsWith('key.') ? [objectId] : []);

/** Most entries in one read of an export. */
const csvPage = 500;
const csvColumns = ['id', 'at', 'actor_kind', 'actor', 'action', 'object', 'workspace', 'before', 'after'] as const;

function csvRow(entry: AuditEntry): CsvRow {
  const { id, at, actor, action, object, workspace, before, after } = shownAuditEntry(entry);
  const was = before === null ? null : JSON.stringify(before);
  return [id, at, actor.kind, actor.name, action, object, workspace, was, JSON.stringify(after)];
}
