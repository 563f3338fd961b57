import { type Kysely, sql } from 'kysely';
import { type DatabaseLocation, openDatabase } from '../../src/store/open-database.ts';
import { ledgerRow, type LedgerRow, oldLedgerColumns } from '../../src/store/ledger-row.ts';
import { migrate, migrations } from '../../src/store/migrations.ts';
import type { Schema } from '../../src/store/schema.ts';
import { spendingOf } from '../../src/store/settle-batch.ts';
import type { Outcome } from '../../src/core/account.ts';

/** Tables in the order in which they can be dropped. */
const tables = [
  ...['usage_hours', 'usage_days', 'requests', 'ledger_routes', 'ledger_models', 'ledger_keys', 'ledger_state'],
  ...[
    'audit',
    'sessions',
    'reservations',
    'secrets',
    'spending',
    'ledger',
    'credits',
    'keys',
    'workspaces',
    'kysely_migration',
    'kysely_migration_lock',
  ],
];

/** Makes the tables of a database anew, as an earlier version made them: by the steps up to this number. */
export async function makeTablesOf(step: string, queries: Kysely<Schema>): Promise<void> {
  for (const table of tables) await queries.schema.dropTable(table).ifExists().execute();
  await migrate(queries, Object.fromEntries(Object.entries(migrations).filter(([name]) => name.slice(0, 4) <= step)));
}

/** The version before the compact ledger, as far as its database shows: an account, and what settles requests as it did. */
export async function oldVersionAt(location: DatabaseLocation) {
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  const { queries } = database;
  await makeTablesOf('0006', queries);
  const ids = { workspaceId: 'ws_00000000000000000001', keyId: 'key_00000000000000000001' };
  await sql`insert into workspaces values (${ids.workspaceId}, 'acme', 'active', 0, 9, 0)`.execute(queries);
  await sql`insert into keys (id, hash, workspace_id, status, rate, burst, created_at)
    values (${ids.keyId}, 'hash', ${ids.workspaceId}, 'active', 1, 1, 0)`.execute(queries);
  return {
    ids,
    queries,
    settle: (outcomes: readonly Outcome[]) => settleAsBefore(queries, outcomes),
    close: database.close,
  };
}

/** Settles as the version before did: rows, balances and spending, each request once. */
export async function settleAsBefore(queries: Kysely<Schema>, outcomes: readonly Outcome[]): Promise<void> {
  await queries.transaction().execute(async (transaction) => {
    const written: LedgerRow[] = [];
    for (const row of outcomes.map(ledgerRow)) {
      const columns = sql.join(oldLedgerColumns.map((field) => sql.ref(field)));
      const values = sql.join(oldLedgerColumns.map((field) => row[field]));
      const { rows } = await sql`insert into ledger (${columns}) values (${values})
        on conflict (request_id) do nothing returning request_id`.execute(transaction);
      if (rows.length > 0) written.push(row);
    }
    for (const { workspace_id: id, cost } of written) {
      await sql`update workspaces set balance = balance - ${cost} where id = ${id}`.execute(transaction);
    }
    const spent = written.map((row) => ({ keyId: row.key_id, cost: row.cost, startedAt: Number(row.started_at) }));
    for (const { key_id: keyId, day, amount, last_used_at: last } of spendingOf(spent)) {
      await sql`insert into spending (key_id, day, amount, last_used_at) values (${keyId}, ${day}, ${amount}, ${last})
        on conflict (key_id, day) do update set amount = spending.amount + excluded.amount`.execute(transaction);
    }
  });
}
