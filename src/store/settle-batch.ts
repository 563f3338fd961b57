import { dayStart } from './budget-period.ts';
import type { Money } from '../core/money.ts';
import type { WrittenRow } from './ledger-writes.ts';
import type { OpenDatabase } from './open-database.ts';
import type { LedgerTable, SpendingTable } from './schema.ts';

/** What a settlement has changed, as committed. */
export interface Settled {
  /** The balance of each workspace that paid. */
  readonly balances: readonly (readonly [workspaceId: string, balance: Money])[];
  /** What each key spent more than before, by the day on which its requests started. */
  readonly spendings: readonly Spending[];
}

export interface Spending {
  readonly keyId: string;
  /** First moment of the day. */
  readonly day: number;
  readonly amount: Money;
}

/** Where rows are written: the queries of a database and the words it has for a settlement. */
export type SettlingDatabase = Pick<OpenDatabase, 'queries' | 'writes'>;

/**
 * Writes ledger rows and takes their costs from balances and budgets, all in one transaction: when it resolves, all are
 * durable; when it rejects, none is kept. A request id that is already there changes nothing and takes no money.
 */
export async function settleBatch(database: SettlingDatabase, rows: readonly LedgerTable[]): Promise<Settled> {
  const { queries, writes } = database;
  if (rows.length === 0) return { balances: [], spendings: [] };
  return queries
    .transaction()
    .setIsolationLevel('read committed')
    .execute((transaction) =>
      // Straight to the connection: what the query layer does around each statement costs more than the statement.
      transaction.getExecutor().provideConnection(async (connection) => {
        const written = await writes.insertRows(connection, rows);
        if (written.length === 0) return { balances: [], spendings: [] };
        const costs = costsOf(written);
        const charged = await writes.charge(connection, costs);
        const known = new Set(charged.map(({ id }) => id));
        const missing = costs.find(([id]) => !known.has(id));
        if (missing !== undefined) throw new RangeError(`there is no workspace ${missing[0]} to charge`);
        const spending = spendingOf(written);
        await writes.addSpending(connection, spending);
        return {
          balances: charged.map(({ id, balance }) => [id, balance] as const),
          spendings: spending.map(({ key_id: keyId, day, amount }) => ({ keyId, day: Number(day), amount })),
        };
      }),
    );
}

/** In the order of ids: see `LedgerWrites`. */
function costsOf(rows: readonly WrittenRow[]): readonly (readonly [string, Money])[] {
  const costs = new Map<string, Money>();
  for (const { workspace_id: id, cost } of rows) costs.set(id, (costs.get(id) ?? 0n) + cost);
  return [...costs].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** What rows add to the spending of keys, by day. */
export function spendingOf(
  rows: readonly Pick<LedgerTable, 'key_id' | 'cost' | 'started_at'>[],
): readonly SpendingTable[] {
  const sums = new Map<string, SpendingTable>();
  for (const { key_id: keyId, cost, started_at: startedAt } of rows) {
    const day = dayStart(Number(startedAt));
    const name = `${keyId} ${day}`;
    const sum = sums.get(name);
    sums.set(name, {
      key_id: keyId,
      day: BigInt(day),
      amount: (sum?.amount ?? 0n) + cost,
      last_used_at: sum !== undefined && sum.last_used_at > startedAt ? sum.last_used_at : startedAt,
    });
  }
  return [...sums.values()].toSorted((one, other) =>
    one.key_id === other.key_id ? Number(one.day - other.day) : one.key_id < other.key_id ? -1 : 1,
  );
}
