import type { Kysely } from 'kysely';
import type { Money } from '../../core/money.ts';
import { exactSum, exactTotal } from './exact-sum.ts';
import type { Schema } from './schema.ts';

/** What the books say about one workspace. They balance when `balance` is `credits` less `costs`. */
export interface WorkspaceBooks {
  readonly id: string;
  readonly name: string;
  readonly requests: number;
  readonly credits: Money;
  readonly costs: Money;
  readonly balance: Money;
  readonly expected: Money;
}

/** Recomputes every balance from the credits and the ledger, as they were at one moment, beside a running service too. */
export async function verifyLedger(queries: Kysely<Schema>): Promise<readonly WorkspaceBooks[]> {
  const all = queries.transaction().setAccessMode('read only').setIsolationLevel('repeatable read');
  return all.execute(async (transaction) => {
    const workspaces = await transaction
      .selectFrom('workspaces')
      .select(['id', 'name', 'balance'])
      .orderBy('name')
      .execute();
    const credited = await transaction
      .selectFrom('credits')
      .select(['workspace_id', ...exactSum('amount', 'total')])
      .groupBy('workspace_id')
      .execute();
    const spent = await transaction
      .selectFrom('ledger')
      .select((row) => ['workspace_id', row.fn.countAll<bigint>().as('requests'), ...exactSum('cost', 'total')])
      .groupBy('workspace_id')
      .execute();
    const credits = new Map(credited.map((row) => [row.workspace_id, exactTotal(row.total_high, row.total_low)]));
    const ledger = new Map(spent.map((row) => [row.workspace_id, row]));
    return workspaces.map(({ id, name, balance }) => {
      const rows = ledger.get(id);
      const costs = rows ? exactTotal(rows.total_high, rows.total_low) : 0n;
      const credit = credits.get(id) ?? 0n;
      return {
        id,
        name,
        requests: Number(rows?.requests ?? 0n),
        credits: credit,
        costs,
        balance,
        expected: credit - costs,
      };
    });
  });
}
