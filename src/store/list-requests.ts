import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Outcome } from '../core/account.ts';
import { keptSince } from './kept-since.ts';
import { type LedgerFilter, oldRowsOfFilter, usageOfFilter } from './ledger-filter.ts';
import { type LedgerRow, oldLedgerColumns, outcomeOf } from './ledger-row.ts';
import { firstIdAt } from './packed-id.ts';
import type { Schema } from './schema.ts';
import { idDigits, idValue } from './sql-dialect.ts';
import { requestColumnNames, type RequestNames, rowOf, type StoredRequest } from './stored-request.ts';
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
  const rows = await queries
    .transaction()
    .setAccessMode('read only')
    .setIsolationLevel('repeatable read')
    .execute(async (transaction) => {
      const kept = isOfSome
        ? await listByHours(transaction, filter, limit)
        : await listRange(transaction, { filter, ...rangeOf(filter), limit });
      return [...kept, ...(await listOldRows(transaction, filter, limit))];
    });
  return rows
    .toSorted((one, other) => Number(other.started_at - one.started_at))
    .slice(0, limit)
    .map(outcomeOf);
}

/** From the first moment on, before the second one. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Past every moment that an id can hold but the last. */
const endOfTime = 2 ** 48 - 1;

function rangeOf({ since = 0, until = endOfTime }: LedgerFilter): Range {
  return { from: Math.max(0, since), to: Math.min(until, endOfTime) };
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
    rows.push(...(await listRange(queries, { filter, ...range, limit: limit - rows.length })));
    if (rows.length >= limit) break;
  }
  return rows;
}

interface RangeQuery extends Range {
  readonly filter: LedgerFilter;
  readonly limit: number;
}

type ReadRequest = StoredRequest & RequestNames;

async function listRange(
  queries: Kysely<Schema>,
  { filter, from, to, limit }: RangeQuery,
): Promise<readonly LedgerRow[]> {
  if (from >= to) return [];
  const { workspaceId, keyId, modelId } = filter;
  const conditions: RawBuilder<unknown>[] = [
    sql`requests.id >= ${idValue(queries, firstIdAt(from))} and requests.id < ${idValue(queries, firstIdAt(to))}`,
  ];
  if (workspaceId !== undefined)
    conditions.push(sql`key in (select number from ledger_keys where workspace_id = ${workspaceId})`);
  if (keyId !== undefined) conditions.push(sql`key = (select number from ledger_keys where key_id = ${keyId})`);
  if (modelId !== undefined) {
    conditions.push(sql`route in (select ledger_routes.number from ledger_routes
      join ledger_models on ledger_models.number = ledger_routes.model where ledger_models.name = ${modelId})`);
  }
  const digits = new Set<string>(['id', 'correlation']);
  const columns = requestColumnNames.map((name) =>
    digits.has(name) ? sql`${idDigits(queries, `requests.${name}`)} as ${sql.ref(name)}` : sql.ref(`requests.${name}`),
  );
  const { rows } = await sql<ReadRequest>`
    select ${sql.join(columns)}, ledger_keys.key_id, ledger_keys.workspace_id,
      ledger_models.name as model_id, ledger_routes.name as route_id
    from (select * from requests where ${sql.join(conditions, sql` and `)} order by id desc limit ${limit}) as requests
    join ledger_keys on ledger_keys.number = requests.key
    join ledger_routes on ledger_routes.number = requests.route
    join ledger_models on ledger_models.number = ledger_routes.model
    order by requests.id desc
  `.execute(queries);
  return rows.map((row) => rowOf(withNumbers(row), row));
}

/** SQLite's driver reads every integer as a bigint. */
function withNumbers(row: ReadRequest): StoredRequest {
  const { key, route, attempts, traits, web_searches: searches } = row;
  return {
    ...row,
    cost: BigInt(row.cost),
    prompt_tokens: Number(row.prompt_tokens),
    completion_tokens: Number(row.completion_tokens),
    cached_tokens: Number(row.cached_tokens),
    reasoning_tokens: Number(row.reasoning_tokens),
    first_token_ms: Number(row.first_token_ms),
    duration_ms: Number(row.duration_ms),
    key: Number(key),
    route: Number(route),
    attempts: Number(attempts),
    traits: Number(traits),
    web_searches: Number(searches),
  };
}

/** Rows of the version before that have not moved yet. */
async function listOldRows(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  limit: number,
): Promise<readonly LedgerRow[]> {
  const { rows } = await sql<Omit<LedgerRow, 'routes'>>`
    select ${sql.join(oldLedgerColumns.map((field) => sql.ref(field)))} from ledger where ${oldRowsOfFilter(filter)}
    order by started_at desc, request_id limit ${limit}
  `.execute(queries);
  return rows.map((row) => ({ ...row, routes: null }));
}
