import type { CompiledQuery, Kysely } from 'kysely';
import type { Outcome } from '../../core/account.ts';
import type { Money } from '../../core/money.ts';
import { ledgerRow } from './ledger-row.ts';
import type { LedgerTable, Schema } from './schema.ts';

/** The balance of each workspace that paid, as committed. */
export type Balances = readonly (readonly [workspaceId: string, balance: Money])[];

interface Statements {
  /** Gives the rows that were not there before. */
  readonly insert: CompiledQuery<Pick<LedgerTable, 'request_id'>>;
  /** Takes a cost from a workspace: `[cost, id]`. */
  readonly charge: CompiledQuery<{ readonly balance: Money }>;
}

/** By the database that they were compiled for: building a query costs several times what running it does. */
const compiled = new WeakMap<object, Statements>();

function statementsFor(queries: Kysely<Schema>, row: LedgerTable): Statements {
  const { adapter } = queries.getExecutor();
  const known = compiled.get(adapter);
  if (known !== undefined) return known;
  const insert = queries
    .insertInto('ledger')
    .values(row)
    .onConflict((conflict) => conflict.column('request_id').doNothing())
    .returning('request_id')
    .compile();
  if (insert.parameters.length !== Object.keys(row).length) {
    throw new Error('the ledger insert does not bind every column');
  }
  const charge = queries
    .updateTable('workspaces')
    .set((columns) => ({ balance: columns('balance', '-', row.cost) }))
    .where('id', '=', row.workspace_id)
    .returning('balance')
    .compile();
  const statements = { insert, charge };
  compiled.set(adapter, statements);
  return statements;
}

/**
 * Writes ledger rows and takes their costs from the balances, all in one transaction: when it resolves, all are
 * durable; when it rejects, none is kept. A request id that is already there changes nothing and takes no money.
 */
export async function settleBatch(queries: Kysely<Schema>, outcomes: readonly Outcome[]): Promise<Balances> {
  const rows = outcomes.map(ledgerRow);
  const [first] = rows;
  if (first === undefined) return [];
  const { insert, charge } = statementsFor(queries, first);
  return queries.transaction().execute((transaction) =>
    // Straight to the connection: what the query layer does around each statement costs more than the statement.
    transaction.getExecutor().provideConnection(async (connection) => {
      const costs = new Map<string, Money>();
      for (const row of rows) {
        const { rows: written } = await connection.executeQuery({ ...insert, parameters: Object.values(row) });
        if (written.length > 0) costs.set(row.workspace_id, (costs.get(row.workspace_id) ?? 0n) + row.cost);
      }
      const balances: [string, Money][] = [];
      for (const [id, cost] of costs) {
        const { rows: charged } = await connection.executeQuery<{ balance: Money }>({
          ...charge,
          parameters: [cost, id],
        });
        const [workspace] = charged;
        if (workspace === undefined) throw new Error(`there is no workspace ${id} to charge`);
        balances.push([id, workspace.balance]);
      }
      return balances;
    }),
  );
}
