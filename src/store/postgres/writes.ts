import { CompiledQuery } from 'kysely';
import type { Money } from '../../core/money.ts';
import type { LedgerWrites, WrittenRow } from '../open-database.ts';
import { ledgerColumnNames, ledgerColumns } from '../schema.ts';

const arrays = ledgerColumnNames.map((name, index) => `$${index + 1}::${ledgerColumns[name]}[]`);

const insert = `insert into ledger (${ledgerColumnNames.join(', ')})
  select * from unnest(${arrays.join(', ')}) as row (${ledgerColumnNames.join(', ')})
  order by request_id
  on conflict (request_id) do nothing
  returning request_id, workspace_id, key_id, cost, started_at`;

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

/** A statement is a network round trip to PostgreSQL: each takes the whole batch as arrays, one per column. */
export const postgresWrites: LedgerWrites = {
  insertRows: async (connection, rows) => {
    const columns = ledgerColumnNames.map((name) => rows.map((row) => row[name]));
    return (await connection.executeQuery<WrittenRow>(CompiledQuery.raw(insert, columns))).rows;
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
};
