import type { Kysely, SelectQueryBuilder, Transaction } from 'kysely';
import type { Money } from '../../core/money.ts';
import type { Schema } from '../databases/schema.ts';
import { periodEnd, periodStart } from '../core/budget-period.ts';
import { findKey } from './keys.ts';

/** Spending that counts against the budget of a key, by day. */
interface BudgetSpending {
  readonly key_id: string;
  readonly day: bigint;
  readonly amount: Money;
  /** The part of `amount` that the key inherited from the keys that it replaces. */
  readonly inherited: Money;
}

/** What counts against budgets of keys: their own spending, and what they inherited. Select from it as `counted`. */
export function budgetSpending(
  queries: Kysely<Schema>,
): SelectQueryBuilder<Schema & { counted: BudgetSpending }, 'counted', object> {
  const own = queries
    .selectFrom('spending')
    .select((row) => ['key_id', 'day', 'amount', row.lit(0).$castTo<bigint>().as('inherited')]);
  const inherited = queries.selectFrom('inherited_spending').select(['key_id', 'day', 'amount', 'amount as inherited']);
  return queries.selectFrom(own.unionAll(inherited).as('counted'));
}

/**
 * Counts the spending of a key in the current period of its budget against the budget of the key that replaces it. The
 * ledger and the sums of spending stay as they are. A key without a budget passes nothing on.
 */
export async function inheritSpending(
  transaction: Transaction<Schema>,
  { from, to }: { readonly from: string; readonly to: string },
  now: number,
): Promise<void> {
  const { budget } = await findKey(transaction, from);
  if (budget === undefined) return;
  const rows = await budgetSpending(transaction)
    .where('counted.key_id', '=', from)
    .where('counted.day', '>=', BigInt(periodStart(budget.period, now)))
    .where('counted.day', '<', BigInt(periodEnd(budget.period, now)))
    .select(['counted.day', 'counted.amount'])
    .execute();
  if (rows.length === 0) return;
  await transaction
    .insertInto('inherited_spending')
    .values(rows.map(({ day, amount }) => ({ key_id: to, day, amount })))
    .execute();
}
