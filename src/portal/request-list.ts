import type { LedgerFilter, Page, PageRequest } from '../books/core/administration.ts';
import { formatUsd } from '../core/money.ts';
import { packId } from '../books/core/packed-id.ts';
import { shownRequest } from '../books/core/request-fields.ts';
import { reasonOf, reasonOfRow } from '../telemetry/core/request-reason.ts';
import type { CountedRefusal } from '../core/refused-request.ts';
import type { SettledRequest } from '../core/settled-request.ts';
import { storyOfRefusal } from '../telemetry/core/ledger-story.ts';
import type { Story } from '../telemetry/core/story.ts';
import type { ListedRequestObject } from './api/requests.ts';
import type { Caller } from './callers.ts';
import type { Portal } from './portal.ts';

/** Which requests of the list are wanted. The caller may see the workspace and the key of the filter. */
export interface ListFilter extends Omit<LedgerFilter, 'outcomes' | 'correlationId'> {
  readonly outcomes: readonly ListedRequestObject['outcome'][] | undefined;
  /** An id, or an `x-request-id`. */
  readonly search: string | undefined;
}

/** One entry of the list, and its place in it. */
type Entry = { readonly position: string } & (
  | { readonly kind: 'settled'; readonly request: SettledRequest }
  | { readonly kind: 'refused'; readonly request: CountedRefusal }
);

/** How far back the ledger is searched for an `x-request-id`, unless the filter says it. */
const searchedMs = 7 * 24 * 3_600_000;

/** Lists requests, newest first: the settled ones, and between them rows of those that were refused. */
export function createRequestList({ store, clock }: Pick<Portal, 'store' | 'clock'>) {
  async function page(filter: ListFilter, asked: PageRequest, caller: Caller): Promise<Page<ListedRequestObject>> {
    const [one, other] = [await settled(filter, asked), await refused(filter, asked)];
    const entries = [
      ...one.items.map((request): Entry => ({ kind: 'settled', request, position: positionOf(request) })),
      ...other.items.map((request): Entry => ({ kind: 'refused', request, position: positionOf(request) })),
    ].toSorted((first, second) => (first.position < second.position ? 1 : -1));
    const chosen = entries.slice(0, asked.limit);
    const hasMore = one.next !== undefined || other.next !== undefined || entries.length > chosen.length;
    return { items: await shown(chosen, caller), next: hasMore ? chosen.at(-1)?.position : undefined };
  }

  /** All pages of the list. */
  async function* pages(
    filter: ListFilter,
    limit: number,
    caller: Caller,
  ): AsyncGenerator<readonly ListedRequestObject[]> {
    let cursor: string | undefined;
    do {
      const { items, next } = await page(filter, { limit, cursor }, caller);
      yield items;
      cursor = next;
    } while (cursor !== undefined);
  }

  async function settled(filter: ListFilter, asked: PageRequest): Promise<Page<SettledRequest>> {
    const { outcomes, search, ...rest } = filter;
    const kinds = outcomes?.filter((outcome) => outcome !== 'refused');
    if (kinds?.length === 0) return { items: [], next: undefined };
    const wanted = { ...rest, outcomes: kinds };
    if (search === undefined) return store.pageOfRequests(wanted, asked);
    const exact = await store.findRequest(search);
    if (exact !== undefined) {
      const isOfPage = asked.cursor === undefined || positionOf(exact) < asked.cursor;
      return { items: isOfPage && isSettledWanted(exact, wanted) ? [exact] : [], next: undefined };
    }
    const since = wanted.since ?? clock.now() - searchedMs;
    return store.pageOfRequests({ ...wanted, since, correlationId: search }, asked);
  }

  async function refused({ outcomes, ...filter }: ListFilter, asked: PageRequest): Promise<Page<CountedRefusal>> {
    const isWanted = outcomes === undefined || outcomes.includes('refused');
    return isWanted ? store.pageOfRefusals(filter, asked) : { items: [], next: undefined };
  }

  /** Reads the names of workspaces and keys, each once. */
  async function shown(entries: readonly Entry[], caller: Caller): Promise<readonly ListedRequestObject[]> {
    const reader = caller.role === 'admin' ? 'admin' : 'member';
    const about = entries.map(({ request }) => request);
    const keys = await store.keyNames([...new Set(about.flatMap(({ keyId }) => keyId ?? []))]);
    const workspaces = new Map<string, string>();
    for (const id of new Set(about.flatMap(({ workspaceId }) => workspaceId ?? [])))
      workspaces.set(id, (await store.findWorkspace(id)).name);
    const nameOf = (id: string): string => workspaces.get(id) ?? id;
    return entries.map((entry): ListedRequestObject => {
      if (entry.kind === 'refused') {
        const story = storyOfRefusal(entry.request);
        return refusedRequest(story, { reason: reasonOf(story, reader) ?? null, keys, nameOf });
      }
      const { request } = entry;
      const form = shownRequest({ outcome: request, workspace: nameOf(request.workspaceId) });
      const reason = reasonOfRow(request, reader) ?? null;
      const engines = caller.role === 'admin' ? {} : hiddenFromMembers;
      const names = { key_name: keys.get(request.keyId) ?? null };
      return { ...form, ...engines, reason, ...names, refused_in_minute: null };
    });
  }

  return { page, pages };
}

/** The place of a request in the list. Of two requests, the one that started later has the greater place. */
function positionOf({
  requestId,
  surface,
  startedAt,
}: Pick<SettledRequest, 'requestId' | 'surface' | 'startedAt'>): string {
  return packId(requestId, { surface, startedAt }).id;
}

function isSettledWanted(request: SettledRequest, filter: LedgerFilter): boolean {
  const { workspaceId, keyId, modelId, outcomes, surface, since, until } = filter;
  return (
    (workspaceId === undefined || request.workspaceId === workspaceId) &&
    (keyId === undefined || request.keyId === keyId) &&
    (modelId === undefined || request.modelId === modelId) &&
    (outcomes === undefined || outcomes.includes(request.kind)) &&
    (surface === undefined || request.surface === surface) &&
    (since === undefined || request.startedAt >= since) &&
    (until === undefined || request.startedAt < until)
  );
}

/** What members do not see of a request: names of routes and endpoints, and what engines said. */
export const hiddenFromMembers = { route: null, failure: null, attempt_log: null } as const;

interface Names {
  readonly reason: string | null;
  readonly keys: ReadonlyMap<string, string>;
  readonly nameOf: (workspaceId: string) => string;
}

/** A refused request in the form of the list: it was not dispatched, so it has no counts and costs nothing. */
export function refusedRequest(story: Story, { reason, keys, nameOf }: Names): ListedRequestObject {
  const { workspace, key } = story;
  return {
    id: story.id,
    correlation_id: story.correlation_id ?? '',
    workspace: workspace === null ? null : nameOf(workspace),
    key,
    key_name: (key === null ? undefined : keys.get(key)) ?? null,
    model: story.model,
    route: null,
    ...{ tags: null, fault: null, failure: null, attempt_log: null },
    surface: story.surface,
    stream: story.stream ?? false,
    outcome: 'refused',
    ...{ prompt_tokens: 0, completion_tokens: 0, cached_tokens: null, reasoning_tokens: null },
    ...{ estimated: false, counted_by: 'engine', web_searches: null, cost: formatUsd(0n) },
    ...{ attempts: 0, routes: null },
    started_at: story.started_at,
    ...{ first_token_ms: null, duration_ms: Math.round(story.duration_ms ?? 0) },
    reason,
    refused_in_minute: story.refused_in_minute,
  };
}
