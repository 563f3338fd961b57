import { CompiledQuery } from 'kysely';
import type { Money } from '../../core/money.ts';
import type { LedgerWrites, WrittenRow } from '../open-database.ts';
import { ledgerColumnNames } from '../schema.ts';

const insert = `insert into ledger (${ledgerColumnNames.join(', ')})
  values (${ledgerColumnNames.map(() => '?').join(', ')})
  on conflict (request_id) do nothing
  returning request_id, workspace_id, key_id, cost, started_at`;

const charge = 'update workspaces set balance = balance - ? where id = ? returning id, balance';

const addSpending = `insert into spending (key_id, day, amount, last_used_at) values (?, ?, ?, ?)
  on conflict (key_id, day) do update set
    amount = spending.amount + excluded.amount,
    last_used_at = max(spending.last_used_at, excluded.last_used_at)`;

/** A statement costs no more than a function call in SQLite: one prepared statement, run row by row, is the fastest form. */
export const sqliteWrites: LedgerWrites = {
  insertRows: async (connection, rows) => {
    const written: WrittenRow[] = [];
    for (const row of rows) {
      const parameters = ledgerColumnNames.map((name) => row[name]);
      const result = await connection.executeQuery<WrittenRow>(CompiledQuery.raw(insert, parameters));
      written.push(...result.rows);
    }
    return written;
  },
  charge: async (connection, costs) => {
    const balances: { readonly id: string; readonly balance: Money }[] = [];
    for (const [id, cost] of costs) {
      const result = await connection.executeQuery<{ id: string; balance: Money }>(
        CompiledQuery.raw(charge, [cost, id]),
      );
      balances.push(...result.rows);
    }
    return balances;
  },
  addSpending: async (connection, spending) => {
    for (const { key_id: keyId, day, amount, last_used_at: lastUsedAt } of spending) {
      await connection.executeQuery(CompiledQuery.raw(addSpending, [keyId, day, amount, lastUsedAt]));
    }
  },
};
