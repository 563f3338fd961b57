import { z } from 'zod';
import { expectedMonth, monthOf, statementRows, statementSchema } from '../../books/core/statement.ts';
import { type App, describing } from '../app.ts';
import { callerOf } from '../authenticate.ts';
import { contentTypes, csvText, jsonOrCsv, wantsCsv } from '../csv.ts';
import type { Portal } from '../portal.ts';
import { visibleWorkspace } from '../visible.ts';

const described = describing('statements');

const params = z.object({
  id: z.string().meta({ description: 'Id or name of the workspace.' }),
  month: z
    .string()
    .refine((text) => monthOf(text) !== undefined, `expected ${expectedMonth}`)
    .meta({ description: 'A month in UTC.', example: '2026-11' }),
});

/** The monthly accounts of workspaces. */
export function statementRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/workspaces/:id/statements/:month',
    described(
      'The account of a month; CSV with `Accept: text/csv`',
      {
        200: jsonOrCsv(statementSchema, {
          description: 'The statement.',
          csv: 'Its lines, docs/how-to/statements.md.',
        }),
      },
      { params },
    ),
    async (request, reply) => {
      const { month } = request.params;
      const { id } = await visibleWorkspace(store, callerOf(request), request.params.id);
      const statement = await store.statement(id, { month, now: clock.now() });
      if (!wantsCsv(request)) return reply.type(contentTypes.json).send(statement);
      return reply
        .header('content-disposition', `attachment; filename="statement-${month}.csv"`)
        .type(contentTypes.csv)
        .send(csvText(statementRows(statement)));
    },
  );
}
