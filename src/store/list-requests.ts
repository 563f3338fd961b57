import { type Kysely, sql } from 'kysely';
import type { Outcome } from '../core/account.ts';
import { keptSince } from './kept-since.ts';
import { type LedgerFilter, usageOfFilter } from './ledger-filter.ts';
import { type LedgerRow, outcomeOf } from './ledger-row.ts';
import { rangeOf, readOldRange, readRange } from './read-requests.ts';
import type { Schema } from './schema.ts';
import { periodMs } from './usage-rollup.ts';

const hourMs = periodMs.usage_hours;

/**
 * Lists requests that are kept, newest first. Those of one key, workspace or model are looked for in the hours of which the rollups
 * say that they have some: `requests` has no index but its ids, which are in the order of time.
 */
export async function listRequests(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  limit: number,
): Promise<readonly Outcome[]> {
  const { workspaceId, keyId, modelId } = filter;
  const isOfSome = workspaceId !== undefined || keyId !== undefined || modelId !== undefined;
  const range = { filter, ...rangeOf(filter), first: 'newest', limit } as const;
  const rows = await queries
    .transaction()
    .setAccessMode('read only')
    .setIsolationLevel('repeatable read')
    .execute(async (transaction) => {
      const kept = isOfSome ? await listByHours(transaction, filter, limit) : await readRange(transaction, range);
      return [...kept, ...(await readOldRange(transaction, range))];
    });
  return rows
    .toSorted((one, other) => Number(other.started_at - one.started_at))
    .slice(0, limit)
    .map(outcomeOf);
}

async function listByHours(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  limit: number,
): Promise<readonly LedgerRow[]> {
  const asked = rangeOf(filter);
  // Of the hours before, there are rollups alone.
  const [from, to] = [Math.max(asked.from, await keptSince(queries)), asked.to];
  const hours = await sql<{ period: number | bigint; requests: bigint }>`
    select period, cast(sum(requests) as bigint) as requests from usage_hours
    where period >= ${Math.floor(from / hourMs)} and period <= ${Math.min(2 ** 31 - 1, Math.floor(to / hourMs))}
      and ${usageOfFilter(filter)}
    group by period order by period desc limit ${limit}
  `.execute(queries);
  const rows: LedgerRow[] = [];
  for (const hour of hours.rows) {
    const start = Number(hour.period) * hourMs;
    const range = { from: Math.max(from, start), to: Math.min(to, start + hourMs) };
    rows.push(...(await readRange(queries, { filter, ...range, first: 'newest', limit: limit - rows.length })));
    if (rows.length >= limit) break;
  }
  return rows;
}
