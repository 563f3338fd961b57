import { type Kysely, sql } from 'kysely';
import { isOneOf, isPositiveAmount } from './create-table.ts';
import type { Schema } from './schema.ts';
import { isSqlite } from './sql-dialect.ts';
import { histogramMeasures, keyColumnsOf, usageSumColumns, type UsageTable } from '../ledger/usage-rollup.ts';

export type LedgerTable = Extract<
  keyof Schema,
  'requests' | 'refusals' | 'tag_budgets' | `usage_${string}` | `ledger_${string}`
>;

/**
 * Makes the tables of the ledger: requests, rollups, and the names that both refer to by number; the budgets of tags, and counts of
 * refused requests. Each has settings of its own: partitions, no rowid, storage.
 */
export async function createLedger(database: Kysely<unknown>): Promise<void> {
  const sqlite = isSqlite(database);
  const run = (text: string) => sql.raw(text).execute(database);
  const number = sqlite ? 'integer primary key' : 'integer generated always as identity primary key';

  await run(`create table ledger_keys (
    number ${number},
    key_id text not null unique references keys (id),
    workspace_id text not null references workspaces (id)
  )`);
  await run(`create table ledger_models (number ${number}, name text not null unique)`);
  await run(`create table ledger_routes (
    number ${number},
    model integer not null references ledger_models (number),
    name text not null,
    unique (model, name)
  )`);
  await run(`create table ledger_tags (
    number ${number},
    workspace_id text not null references workspaces (id),
    name text not null,
    value text not null,
    unique (workspace_id, name, value)
  )`);
  // Facts about the whole ledger. `kept_since` is the moment from which on all requests are kept.
  await run(`create table ledger_state (name text primary key, value bigint not null)`);

  // There are no foreign keys and no index but the primary key, because each costs bytes and time for every request.
  // Names are numbered before a request is settled (`ledger-names.ts`). Ids are in the order of time.
  const [bytes, whole, small, tail] = sqlite
    ? ['blob', 'integer', 'integer', 'without rowid']
    : ['uuid', 'integer', 'smallint', 'partition by range (id)'];
  await run(`create table requests (
    id ${bytes} not null primary key,
    correlation ${bytes} not null,
    cost bigint not null ${isPositiveAmount('cost')},
    key ${whole} not null,
    route ${whole} not null,
    prompt_tokens ${whole} not null,
    completion_tokens ${whole} not null,
    cached_tokens ${whole} not null,
    reasoning_tokens ${whole} not null,
    first_token_ms ${whole} not null,
    duration_ms ${whole} not null,
    attempts ${small} not null,
    web_searches ${small} not null,
    traits ${small} not null,
    request_text text not null,
    correlation_text text not null,
    tags text not null default '',
    fault text not null default '',
    failure text not null default '',
    attempt_log text not null default ''
  ) ${tail}`);

  for (const table of ['usage_hours', 'usage_days', 'usage_tags'] as const) await createRollup(database, table);
  await run(`create table tag_budgets (
    tag integer not null primary key references ledger_tags (number),
    budget_limit bigint not null ${isPositiveAmount('budget_limit')},
    budget_period text not null ${isOneOf('budget_period', ['day', 'week', 'month', 'total'])}
  )`);
  // By minute, key, model and code. `first_id` is the order of lists.
  await run(`create table refusals (
    minute bigint not null,
    key_id text not null,
    model text not null,
    code text not null,
    workspace_id text not null,
    first_id text not null,
    count bigint not null,
    samples text not null,
    constraint refusal_of_minute primary key (minute, key_id, model, code)
  )`);
  await run('create index refusals_in_order on refusals (first_id)');
}

async function createRollup(database: Kysely<unknown>, table: UsageTable): Promise<void> {
  const sqlite = isSqlite(database);
  const small = sqlite ? 'integer' : 'smallint';
  const keys = keyColumnsOf[table].map(
    (column) => `${column} ${column === 'surface' || column === 'outcome' ? small : 'integer'} not null`,
  );
  const sums = usageSumColumns.map((column) => `${column} bigint not null`);
  const buckets = histogramMeasures.map((column) => `${column} integer not null default 0`);
  // Rows of the current hour are updated all the time. PostgreSQL updates a row in place if its page has room, no
  // changed column has an index, and dead versions are removed often. At a fill factor of 70 %, 99 % of the updates
  // were in place (measured).
  const settings = sqlite
    ? 'without rowid'
    : `with (fillfactor = 70, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0)`;
  const text = `create table ${table} (
    ${[...keys, ...sums, ...buckets].join(',\n')},
    ${isPositiveAmount('cost')},
    primary key (${keyColumnsOf[table].join(', ')})
  ) ${settings}`;
  await sql.raw(text).execute(database);
}
