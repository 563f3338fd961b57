import { type Kysely, sql } from 'kysely';
import type { SettledRequest } from '../../core/settled-request.ts';
import { keptSince } from './kept-since.ts';
import { usageOfFilter } from './ledger-filter.ts';
import type { LedgerFilter } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { type Range, rangeOf, readRange } from './read-requests.ts';
import { atOneMoment } from '../databases/one-moment.ts';
import type { Schema } from '../databases/schema.ts';
import { periodMs } from './usage-rollup.ts';

const hourMs = periodMs.usage_hours;
const usualPageRows = 10_000;

/** Some requests of an export: those that started in one part of one hour. */
interface Page {
  readonly requests: readonly SettledRequest[];
  /** The moment at which the next page begins. */
  readonly to: number;
}

/**
 * Reads all requests of a filter that are kept, oldest first, a page at a time: at most `pageRows`, unless more than
 * that started in one millisecond. Each page is a short transaction, because a transaction of hours would block
 * checkpoints of the WAL and vacuuming. Pages are cut between milliseconds, because the next page is found by its first
 * moment.
 *
 * A request that is settled during the export is included if it started later than the requests that were read already.
 * Throws a `Refusal` if retention drops requests before they were read.
 */
export async function* exportRequests(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  pageRows: number = usualPageRows,
): AsyncGenerator<readonly SettledRequest[], void> {
  const keptAtFirst = await keptSince(queries);
  let rest = rangeOf(filter);
  while (rest.from < rest.to) {
    const { from } = rest;
    const page = await atOneMoment(queries, async (transaction) => {
      const kept = await keptSince(transaction);
      if (kept > keptAtFirst && kept > from) throw refusal('requests_dropped', { since: new Date(kept).toISOString() });
      return readPage(transaction, { filter, ...rest, kept, pageRows });
    });
    if (page === undefined) return;
    if (page.requests.length > 0) yield page.requests;
    rest = { ...rest, from: page.to };
  }
}

interface PageQuery extends Range {
  readonly filter: LedgerFilter;
  /** Hours before this moment have only rollups. */
  readonly kept: number;
  readonly pageRows: number;
}

/** The next page; undefined when there is no further request. */
async function readPage(
  queries: Kysely<Schema>,
  { filter, from, to: until, kept, pageRows }: PageQuery,
): Promise<Page | undefined> {
  const start = await nextStart(queries, { filter, kept, from, to: until });
  if (start === undefined) return undefined;
  const to = Math.min(until, (Math.floor(start / hourMs) + 1) * hourMs);
  const range = { filter, from: start, to, first: 'oldest' } as const;
  const rows = await readRange(queries, { ...range, limit: pageRows + 1 });
  if (rows.length <= pageRows) return pageOf(rows, to);

  // If the page is full, more requests may have started in the millisecond of its last row.
  const end = rows.at(-1)?.startedAt ?? start;
  if (end > start) return pageOf(rows, end);
  return pageOf(await readRange(queries, { ...range, to: start + 1, limit: undefined }), start + 1);
}

function pageOf(rows: readonly SettledRequest[], to: number): Page {
  return { requests: rows.filter(({ startedAt }) => startedAt < to), to };
}

/**
 * A moment in the range before which no request of the filter started. Undefined: none started in the range. The
 * rollups show which hours have such requests, because `requests` has no index but that of its ids.
 */
async function nextStart(
  queries: Kysely<Schema>,
  { filter, kept, from, to }: Omit<PageQuery, 'pageRows'>,
): Promise<number | undefined> {
  const since = Math.max(from, kept);
  const hours = await sql<{ period: number | bigint }>`
    select period from usage_hours
    where period >= ${hourOf(since)} and period <= ${hourOf(to - 1)} and ${usageOfFilter(filter)}
    order by period limit 1
  `.execute(queries);
  const [first] = hours.rows;
  return first === undefined ? undefined : Math.max(since, Number(first.period) * hourMs);
}

/** The number of a moment's hour in the rollups, limited to 31 bits. */
function hourOf(moment: number): number {
  return Math.min(2 ** 31 - 1, Math.floor(moment / hourMs));
}
