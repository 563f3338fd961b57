import type { Kysely } from 'kysely';
import type { Outcome } from '../../core/account.ts';
import type { Money } from '../../core/money.ts';
import { ledgerRow } from './ledger-row.ts';
import type { LedgerTable, Schema } from './schema.ts';

/** Rows of one insert: 19 columns each, within the 32,766 values a statement of SQLite may bind. */
const rowsPerInsert = 256;

/** The balance of each workspace that paid, as committed. */
export type Balances = readonly (readonly [workspaceId: string, balance: Money])[];

/**
 * Writes ledger rows and takes their costs from the balances, all in one transaction: when it resolves, all are
 * durable; when it rejects, none is kept. A request id that is already there changes nothing and takes no money.
 */
export async function settleBatch(queries: Kysely<Schema>, outcomes: readonly Outcome[]): Promise<Balances> {
  const rows = outcomes.map(ledgerRow);
  return queries.transaction().execute(async (transaction) => {
    const costs = new Map<string, Money>();
    for (let start = 0; start < rows.length; start += rowsPerInsert) {
      const written = await insertNew(transaction, rows.slice(start, start + rowsPerInsert));
      for (const { workspace_id: id, cost } of written) costs.set(id, (costs.get(id) ?? 0n) + cost);
    }
    const balances: [string, Money][] = [];
    for (const [id, cost] of costs) {
      const { balance } = await transaction
        .updateTable('workspaces')
        .set((columns) => ({ balance: columns('balance', '-', cost) }))
        .where('id', '=', id)
        .returning('balance')
        .executeTakeFirstOrThrow();
      balances.push([id, balance]);
    }
    return balances;
  });
}

/** Only the rows that were not there before come back. */
function insertNew(queries: Kysely<Schema>, rows: readonly LedgerTable[]) {
  return queries
    .insertInto('ledger')
    .values(rows)
    .onConflict((conflict) => conflict.column('request_id').doNothing())
    .returning(['workspace_id', 'cost'])
    .execute();
}
