import type { z } from 'zod';
import type { KeyLabel, LedgerFilter, UsageDimension, UsageLine } from '../../books/core/administration.ts';
import { formatUsd } from '../../core/money.ts';
import { shownUsage } from '../../books/core/shown.ts';
import * as api from '../api/usage.ts';
import { callerOf } from '../authenticate.ts';
import type { Caller } from '../callers.ts';
import { contentTypes, csvText, jsonOrCsv, wantsCsv } from '../csv.ts';
import type { Portal } from '../portal.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { type App, describing } from '../app.ts';
import { visibleKey, workspaceAsked } from '../visible.ts';

const described = describing('usage');

/** Usage and its cost, from the rollups. */
export function usageRoutes(app: App, portal: Portal): void {
  const { store } = portal;

  app.get(
    '/api/v1/usage',
    described(
      'Sums of usage; CSV with `Accept: text/csv`',
      {
        200: jsonOrCsv(api.usageReport, { description: 'The usage.', csv: 'All lines, with the fields of JSON.' }),
      },
      {
        description:
          '`Accept` selects the type: the greater weight, of equal ones the first. JSON for `*/*`, for other types, and without the header.',
        querystring: api.usageQuery,
      },
    ),
    async (request, reply) => {
      const { by, from, to, top, limit, cursor } = request.query;
      const filter = await filterOf(callerOf(request), request.query);
      const isCsv = wantsCsv(request);
      // One more line is read than a page has, to find out whether another page follows.
      const page = isCsv ? undefined : { offset: cursor, limit: limit + 1 };
      const lines = await store.usageReport(filter, by, { measures: 'performance', top, page });
      const wanted = isCsv ? lines : lines.slice(0, limit);
      const labels = by.includes('key') ? await labelsOf(wanted) : new Map<string, KeyLabel>();
      const shown = wanted.map((line) => shownLine(line, labels));
      if (isCsv) {
        return reply
          .header('content-disposition', 'attachment; filename="usage.csv"')
          .type(contentTypes.csv)
          .send(csvOf(shown, by));
      }
      return reply.type(contentTypes.json).send({
        from: from === undefined ? null : new Date(from).toISOString(),
        to: to === undefined ? null : new Date(to).toISOString(),
        data: shown,
        next_cursor: lines.length > limit ? String(cursor + limit) : null,
      });
    },
  );

  async function filterOf(
    caller: Caller,
    { from, to, workspace, key, model, tag }: z.output<typeof api.usageQuery>,
  ): Promise<LedgerFilter> {
    const common = {
      modelId: model?.toLowerCase(),
      tagName: tag,
      since: from,
      until: to,
    };
    if (caller.role === 'key') {
      if (key !== undefined) await visibleKey(store, caller, key);
      if (workspace !== undefined) throw refusal('usage_of_others');
      return { ...common, keyId: caller.keyId };
    }
    const keyId = key === undefined ? undefined : (await visibleKey(store, caller, key)).id;
    // The key determines the workspace.
    if (keyId !== undefined && workspace === undefined) return { ...common, keyId };
    return { ...common, keyId, workspaceId: await workspaceAsked(store, caller, workspace) };
  }

  async function labelsOf(lines: readonly UsageLine[]): Promise<ReadonlyMap<string, KeyLabel>> {
    const ids = new Set(lines.flatMap(({ key }) => (key === undefined ? [] : [key])));
    return store.keyLabels([...ids]);
  }
}

function shownLine(line: UsageLine, labels: ReadonlyMap<string, KeyLabel>): api.UsageLineObject {
  const { workspace, key, model, surface, tag, week, day, hour, ...sums } = shownUsage(line);
  const label = key === undefined ? undefined : labels.get(key);
  return {
    hour: hour ?? null,
    day: day ?? null,
    week: week ?? null,
    model: model ?? null,
    key: key ?? null,
    key_name: label?.name ?? null,
    key_workspace: label?.workspace ?? null,
    workspace: workspace ?? null,
    surface: surface ?? null,
    tag: tag ?? null,
    ...sums,
    cost: formatUsd(line.cost),
    errors: line.performance?.errors ?? 0,
    first_token_p50_ms: line.performance?.firstTokenP50Ms ?? null,
    first_token_p95_ms: line.performance?.firstTokenP95Ms ?? null,
  };
}

function csvOf(lines: readonly api.UsageLineObject[], by: readonly UsageDimension[]): string {
  const dimensions = by.flatMap((name) => (name === 'key' ? (['key', 'key_name', 'key_workspace'] as const) : [name]));
  const columns = [...dimensions, ...counts];
  return csvText([columns, ...lines.map((line) => columns.map((column) => line[column]))]);
}

const counts = [
  ...(['requests', 'errors', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens'] as const),
  ...(['web_searches', 'cost', 'first_token_p50_ms', 'first_token_p95_ms'] as const),
] as const;
