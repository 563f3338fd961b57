import { CompiledQuery } from 'kysely';
import type { Money } from '../../../core/money.ts';
import type { LedgerWrites } from '../database.ts';
import { requestColumnNames, requestColumns } from '../../ledger/stored-request.ts';
import { wants } from '../../outbox/note-events.ts';
import {
  type UsageSums,
  keyColumnsOf,
  usageMeasures,
  usageSumColumns,
  type UsageTable,
} from '../../ledger/usage-rollup.ts';

const arrays = requestColumns.map(({ type }, index) => `$${index + 1}::${type}[]`);

const insert = `insert into requests (${requestColumnNames.join(', ')})
  select * from unnest(${arrays.join(', ')}) as row (${requestColumnNames.join(', ')})
  order by id
  on conflict (id) do nothing
  returning replace(id::text, '-', '') as id`;

// `for no key update` lets others insert rows that refer to the workspace meanwhile.
const lock = 'select id from workspaces where id = any($1::text[]) order by id for no key update';

const charge = `update workspaces set balance = balance - costs.cost
  from unnest($1::text[], $2::bigint[]) as costs (workspace_id, cost)
  where id = costs.workspace_id
  returning id, balance`;

const addSpending = `with noted as (
    insert into outbox (subscription, kind, refs, events, at, retry_at, tries)
    select name, 'request', row.refs, row.events, $7::bigint, 0, 0
    from event_subscriptions, unnest($5::text[], $6::bigint[]) with ordinality as row (refs, events, place)
    where ${wants('request')}
    order by row.place
  )
  insert into spending (key_id, day, amount, last_used_at)
  select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as row (key_id, day, amount, last_used_at)
  order by key_id, day
  on conflict (key_id, day) do update set
    amount = spending.amount + excluded.amount,
    last_used_at = greatest(spending.last_used_at, excluded.last_used_at)`;

/**
 * Most rollups that are written as numbers in the statement. More are passed as arrays, which cost PostgreSQL a
 * millisecond in each statement.
 */
const fewRollups = 8;

/**
 * Adds to rollups. Only the used buckets are named, because a column costs more than a row. All rows are ordered by the
 * whole key: without that order, replicas deadlock and settle only a tenth of the rows (measured).
 */
function additionTo(table: UsageTable, usage: readonly UsageSums[]): CompiledQuery {
  const measures = usageMeasures.flatMap((name, index) => {
    const counts = usage.map((row) => row.measures[index] ?? 0n);
    return counts.some((count) => count !== 0n) || sumColumns.has(name) ? [{ name, counts }] : [];
  });
  const columns = [
    ...keyColumnsOf[table].map((name) => ({ name, values: usage.map((row) => row[name]) })),
    ...measures.map(({ name, counts }) => ({ name, values: counts })),
  ];
  const names = columns.map(({ name }) => name).join(', ');
  const key = keyColumnsOf[table].join(', ');
  const sums = measures.map(({ name }) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');
  const [into, end] = [`insert into ${table} (${names})`, `on conflict (${key}) do update set ${sums}`];
  if (usage.length <= fewRollups) {
    // All values are numbers, so there is nothing to escape.
    const rows = usage.map((_, index) => `(${columns.map(({ values }) => values[index]).join(', ')})`);
    return CompiledQuery.raw(`${into} values ${rows.join(', ')} ${end}`);
  }
  const arrays = columns.map(({ name }, index) => `$${index + 1}::${sumColumns.has(name) ? 'bigint' : 'integer'}[]`);
  return CompiledQuery.raw(
    `${into} select * from unnest(${arrays.join(', ')}) as row (${names}) order by ${key} ${end}`,
    columns.map(({ values }) => values),
  );
}

const sumColumns: ReadonlySet<string> = new Set(usageSumColumns);

/** Each statement is a network round trip to PostgreSQL, so it gets the whole batch as arrays, one per column. */
export const postgresWrites: LedgerWrites = {
  refuseDropped: true,
  insertRequests: async (connection, entries) => {
    const columns = requestColumns.map((_, index) => entries.map(({ values }) => values[index]));
    const { rows } = await connection.executeQuery<{ id: string }>(CompiledQuery.raw(insert, columns));
    if (rows.length === entries.length) return entries;
    const written = new Set(rows.map(({ id }) => id));
    return entries.filter(({ id }) => written.has(id));
  },
  charge: async (connection, costs) => {
    const ids = costs.map(([id]) => id);
    // An update alone would lock the rows in the order of its query plan.
    if (ids.length > 1) await connection.executeQuery(CompiledQuery.raw(lock, [ids]));
    const parameters = [ids, costs.map(([, cost]) => cost)];
    return (await connection.executeQuery<{ id: string; balance: Money }>(CompiledQuery.raw(charge, parameters))).rows;
  },
  addSpending: async (connection, spending, { rows, at }) => {
    const columns = (['key_id', 'day', 'amount', 'last_used_at'] as const).map((name) =>
      spending.map((row) => row[name]),
    );
    const noted = [rows.map(({ refs }) => refs), rows.map(({ events }) => events), at];
    await connection.executeQuery(CompiledQuery.raw(addSpending, [...columns, ...noted]));
  },
  addUsage: async (connection, table, usage) => {
    if (usage.length > 0) await connection.executeQuery(additionTo(table, usage));
  },
};
