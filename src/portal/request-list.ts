import type { LedgerFilter, Page, PageRequest } from '../books/core/administration.ts';
import { formatUsd } from '../core/money.ts';
import { packId } from '../books/core/packed-id.ts';
import { shownRequest } from '../books/core/request-fields.ts';
import { reasonOfRow } from '../telemetry/core/request-reason.ts';
import type { SettledRequest } from '../core/settled-request.ts';
import type { ListedRequestObject } from './api/requests.ts';
import type { Caller } from './callers.ts';
import type { Portal } from './portal.ts';
import type { RecentFailure } from './recent-failures.ts';

/** Which requests of the list are wanted. The caller may see the workspace and the key of the filter. */
export interface ListFilter extends Omit<LedgerFilter, 'outcomes' | 'correlationId'> {
  readonly outcomes: readonly ListedRequestObject['outcome'][] | undefined;
  /** An id, or an `x-request-id`. */
  readonly search: string | undefined;
}

/** One entry of the list, and its place in it. */
type Entry = { readonly position: string } & (
  | { readonly kind: 'settled'; readonly request: SettledRequest; readonly failure: RecentFailure | undefined }
  | { readonly kind: 'refused'; readonly failure: RecentFailure }
);

/** How far back the ledger is searched for an `x-request-id`, unless the filter says it. */
const searchedMs = 7 * 24 * 3_600_000;

/**
 * Lists requests, newest first: the settled ones of the ledger, and between them those that were refused, which only
 * the services remember.
 */
export function createRequestList({
  store,
  recentFailures,
  clock,
}: Pick<Portal, 'store' | 'recentFailures' | 'clock'>) {
  async function page(filter: ListFilter, asked: PageRequest, caller: Caller): Promise<Page<ListedRequestObject>> {
    const failures = await recentFailures();
    const refused = failures
      .filter((failure) => failure.outcome === 'refused' && isWanted(failure, filter))
      .map((failure): Entry => ({
        kind: 'refused',
        failure,
        position: positionOf({ ...failure, requestId: failure.id }),
      }))
      .filter(({ position }) => asked.cursor === undefined || position < asked.cursor);
    const { items, next } = await settled(filter, asked);
    const byId = new Map(failures.map((failure) => [failure.id, failure]));
    const entries = items.map((request): Entry => ({
      kind: 'settled',
      request,
      failure: byId.get(request.requestId),
      position: positionOf(request),
    }));
    const merged = [...entries, ...refused].toSorted((one, other) => (one.position < other.position ? 1 : -1));
    const chosen = merged.slice(0, asked.limit);
    const hasMore = next !== undefined || merged.length > chosen.length;
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

  /** Reads the names of workspaces and keys, each once. */
  async function shown(entries: readonly Entry[], caller: Caller): Promise<readonly ListedRequestObject[]> {
    const about = entries.map((entry) => (entry.kind === 'settled' ? entry.request : entry.failure));
    const keys = await store.keyNames([...new Set(about.flatMap(({ keyId }) => keyId ?? []))]);
    const workspaces = new Map<string, string>();
    for (const id of new Set(about.flatMap(({ workspaceId }) => workspaceId ?? [])))
      workspaces.set(id, (await store.findWorkspace(id)).name);
    const nameOf = (id: string): string => workspaces.get(id) ?? id;
    return entries.map((entry): ListedRequestObject => {
      const { failure } = entry;
      const remembered = caller.role === 'admin' ? failure?.reason : failure?.memberReason;
      if (entry.kind === 'refused') return refusedRequest(entry.failure, { reason: remembered ?? null, keys, nameOf });
      const { request } = entry;
      const form = shownRequest({ outcome: request, workspace: nameOf(request.workspaceId) });
      const reason = remembered ?? reasonOfRow(request) ?? null;
      const engines = caller.role === 'admin' ? {} : hiddenFromMembers;
      return { ...form, ...engines, reason, key_name: keys.get(request.keyId) ?? null };
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

function isWanted(failure: RecentFailure, filter: ListFilter): boolean {
  const { workspaceId, keyId, modelId, outcomes, search, since, until } = filter;
  return (
    (workspaceId === undefined || failure.workspaceId === workspaceId) &&
    (keyId === undefined || failure.keyId === keyId) &&
    (modelId === undefined || failure.modelId === modelId) &&
    (outcomes === undefined || outcomes.includes(failure.outcome)) &&
    (search === undefined || failure.id === search || failure.correlationId === search) &&
    (since === undefined || failure.startedAt >= since) &&
    (until === undefined || failure.startedAt < until)
  );
}

function isSettledWanted(request: SettledRequest, filter: LedgerFilter): boolean {
  const { workspaceId, keyId, modelId, outcomes, since, until } = filter;
  return (
    (workspaceId === undefined || request.workspaceId === workspaceId) &&
    (keyId === undefined || request.keyId === keyId) &&
    (modelId === undefined || request.modelId === modelId) &&
    (outcomes === undefined || outcomes.includes(request.kind)) &&
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
export function refusedRequest(failure: RecentFailure, { reason, keys, nameOf }: Names): ListedRequestObject {
  const { workspaceId, keyId } = failure;
  return {
    id: failure.id,
    correlation_id: failure.correlationId,
    workspace: workspaceId === undefined ? null : nameOf(workspaceId),
    key: keyId ?? null,
    key_name: (keyId === undefined ? undefined : keys.get(keyId)) ?? null,
    model: failure.modelId ?? null,
    route: null,
    ...{ tags: null, fault: null, failure: null, attempt_log: null },
    surface: failure.surface,
    stream: failure.isStream,
    outcome: failure.outcome,
    ...{ prompt_tokens: 0, completion_tokens: 0, cached_tokens: null, reasoning_tokens: null },
    ...{ estimated: false, counted_by: 'engine', web_searches: null, cost: formatUsd(0n) },
    ...{ attempts: 0, routes: null },
    started_at: new Date(failure.startedAt).toISOString(),
    ...{ first_token_ms: null, duration_ms: failure.durationMs },
    reason,
  };
}
