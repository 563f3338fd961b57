import { type Kysely, sql } from 'kysely';
import { surfaces } from '../../core/dialect.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { keptSince } from './kept-since.ts';
import { cutPage, type LedgerFilter, type Page, type PageRequest } from '../core/administration.ts';
import { usageOfFilter } from './ledger-filter.ts';
import { refusal } from '../core/operator-refusals.ts';
import { type PackedId, packId, startOf } from '../core/packed-id.ts';
import { type RangeQuery, rangeOf, readIds, readRange } from './read-requests.ts';
import { atOneMoment } from '../databases/one-moment.ts';
import type { Schema } from '../databases/schema.ts';
import { periodMs } from './usage-rollup.ts';

const hourMs = periodMs.usage_hours;

/**
 * Lists kept requests, newest first. `after` is the last request of an earlier page. The only index of `requests` is
 * that of its ids, which are in the order of time. So the requests of one key, workspace or model are read only from
 * hours whose rollups count at least one.
 */
export async function listRequests(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  limit: number,
  after?: PackedId,
): Promise<readonly SettledRequest[]> {
  const { workspaceId, keyId, modelId, outcomes, surface, correlationId } = filter;
  // Rollups do not have correlation ids: the hours that they name need not have a request with this one.
  const isOfSome =
    correlationId === undefined &&
    [workspaceId, keyId, modelId, outcomes, surface].some((wanted) => wanted !== undefined);
  const asked = rangeOf(filter);
  const before = after === undefined ? asked.to : Math.min(asked.to, startOf(after) + 1);
  const range = { filter, from: asked.from, to: before, first: 'newest', limit, after } as const;
  return atOneMoment(queries, (transaction) =>
    isOfSome ? listByHours(transaction, range) : readRange(transaction, range),
  );
}

/** Like `listRequests`, page by page. */
export async function pageOfRequests(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<SettledRequest>> {
  if (cursor !== undefined && !/^[0-9a-f]{32}$/.test(cursor)) throw refusal('cursor_malformed');
  const found = await listRequests(queries, filter, limit + 1, cursor);
  return cutPage(found, limit, (last) => packId(last.requestId, last).id);
}

/** Finds a kept request by its id. An id that Weir made contains the position of the row. */
export async function findRequest(queries: Kysely<Schema>, requestId: string): Promise<SettledRequest | undefined> {
  for (const surface of surfaces) {
    const { id, isOwn } = packId(requestId, { surface, startedAt: 0 });
    if (!isOwn) continue;
    const rows = await readIds(queries, [id]);
    const found = rows.find((row) => row.requestId === requestId);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function listByHours(
  queries: Kysely<Schema>,
  asked: RangeQuery & { readonly limit: number },
): Promise<readonly SettledRequest[]> {
  const { filter, limit } = asked;
  // Earlier hours have only rollups.
  const [from, to] = [Math.max(asked.from, await keptSince(queries)), asked.to];
  const hours = await sql<{ period: number | bigint; requests: bigint }>`
    select period, cast(sum(requests) as bigint) as requests from usage_hours
    where period >= ${Math.floor(from / hourMs)} and period <= ${Math.min(2 ** 31 - 1, Math.floor(to / hourMs))}
      and ${usageOfFilter(filter)}
    group by period order by period desc limit ${limit + 1}
  `.execute(queries);
  const rows: SettledRequest[] = [];
  for (const hour of hours.rows) {
    const start = Number(hour.period) * hourMs;
    const range = { ...asked, from: Math.max(from, start), to: Math.min(to, start + hourMs) };
    rows.push(...(await readRange(queries, { ...range, limit: limit - rows.length })));
    if (rows.length >= limit) break;
  }
  return rows;
}
