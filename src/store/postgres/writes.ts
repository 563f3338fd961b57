import { CompiledQuery } from 'kysely';
import type { Money } from '../../core/money.ts';
import type { LedgerWrites } from '../open-database.ts';
import { requestColumnNames, requestColumns } from '../stored-request.ts';
import { usageKeyColumns, usageMeasures, usageSumColumns, type UsageTable } from '../usage-rollup.ts';

const arrays = requestColumnNames.map((name, index) => `$${index + 1}::${requestColumns[name]}[]`);

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

const addSpending = `insert into spending (key_id, day, amount, last_used_at)
  select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as row (key_id, day, amount, last_used_at)
  order by key_id, day
  on conflict (key_id, day) do update set
    amount = spending.amount + excluded.amount,
    last_used_at = greatest(spending.last_used_at, excluded.last_used_at)`;

/** Each row of a batch is ordered by the whole key: unordered, replicas deadlock, and settle a tenth of the rows (measured). */
function addUsage(table: UsageTable): string {
  const columns = [...usageKeyColumns, ...usageMeasures];
  const wide: ReadonlySet<string> = new Set(usageSumColumns);
  const types = columns.map((name, index) => `$${index + 1}::${wide.has(name) ? 'bigint' : 'integer'}[]`);
  const key = usageKeyColumns.join(', ');
  return `insert into ${table} (${columns.join(', ')})
    select * from unnest(${types.join(', ')}) as row (${columns.join(', ')})
    order by ${key}
    on conflict (${key}) do update set
    ${usageMeasures.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ')}`;
}

const additions = { usage_hours: addUsage('usage_hours'), usage_days: addUsage('usage_days') };

/** A statement is a network round trip to PostgreSQL: each takes the whole batch as arrays, one per column. */
export const postgresWrites: LedgerWrites = {
  insertRequests: async (connection, entries) => {
    const columns = requestColumnNames.map((name) => entries.map(({ stored }) => stored[name]));
    const { rows } = await connection.executeQuery<{ id: string }>(CompiledQuery.raw(insert, columns));
    if (rows.length === entries.length) return entries;
    const written = new Set(rows.map(({ id }) => id));
    return entries.filter(({ stored }) => written.has(stored.id));
  },
  charge: async (connection, costs) => {
    const ids = costs.map(([id]) => id);
    // An update alone would lock the rows in the order of its query plan.
    if (ids.length > 1) await connection.executeQuery(CompiledQuery.raw(lock, [ids]));
    const parameters = [ids, costs.map(([, cost]) => cost)];
    return (await connection.executeQuery<{ id: string; balance: Money }>(CompiledQuery.raw(charge, parameters))).rows;
  },
  addSpending: async (connection, spending) => {
    const columns = (['key_id', 'day', 'amount', 'last_used_at'] as const).map((name) =>
      spending.map((row) => row[name]),
    );
    await connection.executeQuery(CompiledQuery.raw(addSpending, columns));
  },
  addUsage: async (connection, table, usage) => {
    const keys = usageKeyColumns.map((name) => usage.map((row) => row[name]));
    const measures = usageMeasures.map((_, index) => usage.map((row) => row.measures[index]));
    await connection.executeQuery(CompiledQuery.raw(additions[table], [...keys, ...measures]));
  },
};
