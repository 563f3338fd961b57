import { CompiledQuery } from 'kysely';
import type { Money } from '../../../core/money.ts';
import type { LedgerWrites } from '../database.ts';
import { type LedgerEntry, requestColumnNames, requestColumns } from '../../ledger/stored-request.ts';
import { wants } from '../../outbox/note-events.ts';
import { keyColumnsOf, usageMeasures, type UsageTable } from '../../ledger/usage-rollup.ts';

const insert = `insert into requests (${requestColumnNames.join(', ')})
  values (${requestColumns.map(({ type }) => (type === 'uuid' ? 'unhex(?)' : '?')).join(', ')})
  on conflict (id) do nothing`;

const charge = 'update workspaces set balance = balance - ? where id = ? returning id, balance';

const addSpending = `insert into spending (key_id, day, amount, last_used_at) values (?, ?, ?, ?)
  on conflict (key_id, day) do update set
    amount = spending.amount + excluded.amount,
    last_used_at = max(spending.last_used_at, excluded.last_used_at)`;

const noteRequests = `insert into outbox (subscription, kind, refs, events, at, retry_at, tries)
  select name, 'request', ?, ?, ?, 0, 0 from event_subscriptions where ${wants('request')}`;

function addUsage(table: UsageTable): string {
  const columns = [...keyColumnsOf[table], ...usageMeasures];
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})
    on conflict (${keyColumnsOf[table].join(', ')}) do update set
    ${usageMeasures.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;
}

const additions = {
  usage_hours: addUsage('usage_hours'),
  usage_days: addUsage('usage_days'),
  usage_tags: addUsage('usage_tags'),
};

/** A statement costs no more than a function call in SQLite: one prepared statement, run row by row, is the fastest form. */
export const sqliteWrites: LedgerWrites = {
  refuseDropped: false,
  insertRequests: async (connection, entries) => {
    const written: LedgerEntry[] = [];
    for (const entry of entries) {
      const { numAffectedRows } = await connection.executeQuery(CompiledQuery.raw(insert, [...entry.values]));
      if (numAffectedRows === 1n) written.push(entry);
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
  addSpending: async (connection, spending, noted) => {
    for (const { key_id: keyId, day, amount, last_used_at: lastUsedAt } of spending) {
      await connection.executeQuery(CompiledQuery.raw(addSpending, [keyId, day, amount, lastUsedAt]));
    }
    for (const { refs, events } of noted.rows) {
      await connection.executeQuery(CompiledQuery.raw(noteRequests, [refs, events, noted.at]));
    }
  },
  addUsage: async (connection, table, usage) => {
    for (const row of usage) {
      const parameters = [...keyColumnsOf[table].map((name) => row[name]), ...row.measures];
      await connection.executeQuery(CompiledQuery.raw(additions[table], parameters));
    }
  },
};
