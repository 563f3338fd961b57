import type { CompiledQuery, Kysely } from 'kysely';
import type { Outcome } from '../../core/account.ts';
import type { Money } from '../../core/money.ts';
import { ledgerRow } from './ledger-row.ts';
import type { LedgerTable, Schema } from './schema.ts';

/** The balance of each workspace that paid, as committed. */
export type Balances = readonly (readonly [workspaceId: string, balance: Money])[];

/** What an insert gives back: the rows that were not there before. */
type Written = Pick<LedgerTable, 'workspace_id' | 'cost'>;

/** The insert of a row, whichever: building a query costs several times what running it does, so it is built once. */
const inserts = new WeakMap<object, CompiledQuery<Written>>();

function insertOf(queries: Kysely<Schema>, row: LedgerTable): CompiledQuery<Written> {
  const executor = queries.getExecutor().adapter;
  const known = inserts.get(executor);
  const parameters = Object.values(row);
  if (known !== undefined) return { ...known, parameters };
  const built = queries
    .insertInto('ledger')
    .values(row)
    .onConflict((conflict) => conflict.column('request_id').doNothing())
    .returning(['workspace_id', 'cost'])
    .compile();
  if (built.parameters.length !== parameters.length) throw new Error('the ledger insert does not bind every column');
  inserts.set(executor, built);
  return built;
}

/**
 * Writes ledger rows and takes their costs from the balances, all in one transaction: when it resolves, all are
 * durable; when it rejects, none is kept. A request id that is already there changes nothing and takes no money.
 */
export async function settleBatch(queries: Kysely<Schema>, outcomes: readonly Outcome[]): Promise<Balances> {
  const rows = outcomes.map(ledgerRow);
  return queries.transaction().execute(async (transaction) => {
    const costs = new Map<string, Money>();
    for (const row of rows) {
      const { rows: written } = await transaction.executeQuery(insertOf(queries, row));
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
