import { type Kysely, sql } from 'kysely';
import type { Money } from '../core/money.ts';
import { exactSum, exactTotal, type Schema } from './schema.ts';

/** The books of one workspace. They are right when `balance` equals `expected`, which is `credits` less `costs`. */
export interface WorkspaceBooks {
  readonly id: string;
  readonly name: string;
  readonly requests: number;
  readonly credits: Money;
  readonly costs: Money;
  readonly balance: Money;
  readonly expected: Money;
}

/** A day of a key on which the amount that counts against its budget differs from the cost of its ledger rows. */
export interface SpendingDifference {
  readonly keyId: string;
  /** First moment of the UTC day, milliseconds since the Unix epoch. */
  readonly day: number;
  readonly counted: Money;
  readonly expected: Money;
}

export interface Books {
  readonly workspaces: readonly WorkspaceBooks[];
  /** How many days of keys were compared. */
  readonly spendingDays: number;
  readonly spendingDifferences: readonly SpendingDifference[];
}

/**
 * Recomputes every balance from the credits and the ledger, and the daily spending of every key from the ledger, all as of one
 * moment. Can run beside a service.
 */
export async function verifyLedger(queries: Kysely<Schema>): Promise<Books> {
  const all = queries.transaction().setAccessMode('read only').setIsolationLevel('repeatable read');
  return all.execute(async (transaction) => ({
    workspaces: await verifyBalances(transaction),
    ...(await verifySpending(transaction)),
  }));
}

async function verifySpending(transaction: Kysely<Schema>): Promise<Omit<Books, 'workspaces'>> {
  const { rows } = await sql<{ key_id: string; day: bigint; counted: bigint; expected: bigint }>`
    select key_id, day, cast(sum(counted) as bigint) as counted, cast(sum(expected) as bigint) as expected
    from (
      select key_id, day, amount as counted, 0 as expected from spending
      union all
      select key_id, started_at - started_at % 86400000, 0, cost from ledger
    ) as entries
    group by key_id, day
    having sum(counted) <> sum(expected)
    order by key_id, day
  `.execute(transaction);
  const { days } = await transaction
    .selectFrom('spending')
    .select((row) => row.fn.countAll<bigint>().as('days'))
    .executeTakeFirstOrThrow();
  return {
    spendingDays: Number(days),
    spendingDifferences: rows.map((row) => ({
      keyId: row.key_id,
      day: Number(row.day),
      counted: row.counted,
      expected: row.expected,
    })),
  };
}

async function verifyBalances(transaction: Kysely<Schema>): Promise<readonly WorkspaceBooks[]> {
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
}
