import { z } from 'zod';
import { shownRequest as publicForm } from '../../books/core/request-fields.ts';
import { storyFromLedger, storyOfRefusal } from '../../telemetry/core/ledger-story.ts';
import { actionOf } from '../../telemetry/core/request-action.ts';
import { faultText, limitFor, reasonOf, type ReasonReader } from '../../telemetry/core/request-reason.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import type { Story } from '../../telemetry/core/story.ts';
import { pageAnswer } from '../answers.ts';
import * as api from '../api/requests.ts';
import { callerOf } from '../authenticate.ts';
import type { Caller } from '../callers.ts';
import { type CsvRow, sendCsv, jsonOrCsv, wantsCsv } from '../csv.ts';
import type { Portal } from '../portal.ts';
import type { PortalStore } from '../store-port.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import { type App, describing } from '../app.ts';
import { createRequestList, hiddenFromMembers, type ListFilter } from '../request-list.ts';
import { seesRequest, visibleKey, workspaceAsked } from '../visible.ts';

const described = describing('requests');

const params = z.object({
  id: z.string().max(200).meta({ description: 'Id of the request, or the `x-request-id` that its caller sent.' }),
});

/** Most requests in one read of an export. */
const csvPage = 500;
const csvColumns = Object.keys(api.listedRequest.shape);

async function* csvRows(pages: AsyncIterable<readonly api.ListedRequestObject[]>): AsyncGenerator<readonly CsvRow[]> {
  for await (const page of pages) {
    yield page.map((request) => {
      const fields = new Map(Object.entries(request));
      return csvColumns.map((column) => fields.get(column));
    });
  }
}

/** Single requests: rows of the ledger, and stories of recent ones. Never content. */
export function requestRoutes(app: App, portal: Portal): void {
  const { store } = portal;
  const list = createRequestList(portal);

  app.get(
    '/api/v1/requests',
    described(
      'Settled and refused requests, newest first; CSV with `Accept: text/csv`',
      {
        200: jsonOrCsv(api.requestPage, {
          description: 'The requests.',
          csv: 'All requests, with the fields of JSON.',
        }),
      },
      {
        description:
          'CSV has all requests of the filters. Of refused requests it has a row for each minute, key, model and code.',
        querystring: api.requestsQuery,
      },
    ),
    async (request, reply) => {
      const caller = callerOf(request);
      const { limit, cursor } = request.query;
      const filter = await filterOf(store, caller, request.query);
      if (wantsCsv(request)) {
        const pages = list.pages(filter, csvPage, caller);
        return sendCsv(reply, { file: 'requests.csv', columns: csvColumns, rows: csvRows(pages) });
      }
      return reply.send(pageAnswer(await list.page(filter, { limit, cursor }, caller), (item) => item));
    },
  );

  app.get(
    '/api/v1/requests/:id',
    described('One request and its story', { 200: api.requestDetail }, { params }),
    async (request) => {
      const caller = callerOf(request);
      const { id } = request.params;
      const found = await findVisible(portal, caller, id);
      if (found === undefined) throw refusal('request_not_found', { id });
      const { settled, story, matches } = found;
      return {
        request:
          settled === undefined
            ? null
            : {
                ...shownRequest(settled, (await store.findWorkspace(settled.workspaceId)).name, caller),
                key_name: (await store.keyNames([settled.keyId])).get(settled.keyId) ?? null,
              },
        story: story === undefined ? null : shownStory(story, caller),
        matches: matches.map(({ id: match, started_at, model, outcome }) => ({
          id: match,
          started_at,
          model,
          outcome,
        })),
      };
    },
  );
}

async function filterOf(store: PortalStore, caller: Caller, query: api.RequestsQuery): Promise<ListFilter> {
  const { workspace, key, model, outcome, surface, search, from, to } = query;
  const wanted = key === undefined ? undefined : (await visibleKey(store, caller, key)).id;
  // A key sees its own requests.
  const keyId = caller.keyId ?? wanted;
  const isOfKey = keyId !== undefined && workspace === undefined;
  return {
    workspaceId: isOfKey ? undefined : await workspaceAsked(store, caller, workspace),
    keyId,
    modelId: model?.toLowerCase(),
    outcomes: api.outcomesOf(outcome),
    surface,
    search: search?.trim() || undefined,
    since: from,
    until: to,
  };
}

/**
 * The request with exactly this id. If no request has it: the newest request with this correlation id that the caller
 * may see, with all such requests as `matches`. So a request cannot be hidden by sending its id as `x-request-id`.
 */
async function findVisible({ store, services }: Portal, caller: Caller, id: string) {
  const live = (await services.find(id)).stories;
  const stories = live.length > 0 ? live : (await store.findRefusals(id)).map(storyOfRefusal);
  const exact = stories.find((story) => story.id === id);
  const settled = await store.findRequest(id);
  if (settled !== undefined || exact !== undefined) {
    const workspace = settled?.workspaceId ?? exact?.workspace ?? null;
    return seesRequest(caller, { workspace, key: settled?.keyId ?? exact?.key ?? null })
      ? { settled, story: exact ?? (settled && storyFromLedger(settled)), matches: [] }
      : undefined;
  }
  const matches = stories.filter((story) => seesRequest(caller, story));
  const [story] = matches;
  return story && { settled: await store.findRequest(story.id), story, matches };
}

/** The form of `weir usage --requests --json`. Only admins see the route. */
function shownRequest(outcome: SettledRequest, workspace: string, caller: Pick<Caller, 'role'>): api.RequestObject {
  const shown = publicForm({ outcome, workspace });
  return caller.role === 'admin' ? shown : { ...shown, ...hiddenFromMembers };
}

/** The story as members see it: numbers in place of routes, no names of backends and endpoints. */
function shownStory(story: Story, { role }: Pick<Caller, 'role'>): api.RequestStoryObject {
  if (role === 'admin') {
    const all = story.attempts?.map((attempt) => ({ ...attempt, why_failed: whyFailed(attempt.fault) }));
    return { ...story, attempts: all ?? null, ...whyOf(story, 'admin') };
  }
  const numbers = new Map<string, string>();
  const nameOf = (route: string): string => {
    return numbers.getOrInsertComputed(route, () => `route ${numbers.size + 1}`);
  };
  const attempts = story.attempts?.map(({ route, fault: whole, ...attempt }) => {
    // Errors of an engine are for operators. A member sees only the HTTP status.
    const fault = whole && {
      kind: whole.kind,
      status: whole.status,
      engine_error: null,
      about: null,
      envoy_flags: null,
      cause: null,
    };
    return { ...attempt, route: nameOf(route), backend: null, endpoint: null, fault, why_failed: whyFailed(fault) };
  });
  const failure = story.failure && { ...story.failure, limit: limitFor(story.failure, 'member'), reached: undefined };
  return { ...story, failure, route: null, plan: null, attempts: attempts ?? null, ...whyOf(story, 'member') };
}

const whyOf = (story: Story, reader: ReasonReader) => ({
  why: reasonOf(story, reader) ?? null,
  action: actionOf(story, reader) ?? null,
});

const whyFailed = (fault: Parameters<typeof faultText>[0] | null): string | null => fault && faultText(fault);
