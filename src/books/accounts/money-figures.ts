import type { Kysely } from 'kysely';
import type { Money } from '../../core/money.ts';
import type { KeyMoney, MoneyFigures, WorkspaceMoney } from '../core/money-figures.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { dayStart, periodEnd } from '../core/budget-period.ts';
import { spentBy } from './find-credentials.ts';

const dayMs = 86_400_000;
const meanDays = 7;

/** Reads the sums of days of spending: a row for each key and day. Suspended workspaces and keys are left out. */
export async function moneyFigures(
  queries: Kysely<Schema>,
  { max }: { readonly max: number },
  now: number,
): Promise<MoneyFigures> {
  const all = await workspacesBySpending(queries, now);
  const others = all.slice(max);
  const sum = (read: (of: WorkspaceMoney) => Money): Money => others.reduce((total, one) => total + read(one), 0n);
  return {
    workspaces: all.slice(0, max),
    otherWorkspaces: {
      count: others.length,
      balance: sum(({ balance }) => balance),
      available: sum(({ available }) => available),
      spentPerDay: sum(({ spentPerDay }) => spentPerDay),
    },
    keys: await keysByShare(queries, max, now),
  };
}

async function workspacesBySpending(queries: Kysely<Schema>, now: number): Promise<readonly WorkspaceMoney[]> {
  const since = dayStart(now) - (meanDays - 1) * dayMs;
  const rows = await queries
    .selectFrom('workspaces')
    .where('status', '=', 'active')
    .select(['id', 'name', 'balance', 'credit_limit', 'created_at'])
    .execute();
  const spent = await queries
    .selectFrom('spending')
    .innerJoin('keys', 'keys.id', 'spending.key_id')
    .where('spending.day', '>=', BigInt(since))
    .where('spending.day', '<', BigInt(periodEnd('day', now)))
    .groupBy('keys.workspace_id')
    .select(['keys.workspace_id as id', ...exactSum('spending.amount', 'spent')])
    .execute();
  const spentOf = new Map(spent.map((row) => [row.id, exactTotal(row.spent_high, row.spent_low)]));
  const figures = rows.map(({ id, name, balance, credit_limit: limit, created_at: madeAt }) => {
    const forMs = Math.max(dayMs, now - Math.max(since, Number(madeAt)));
    const spentPerDay = ((spentOf.get(id) ?? 0n) * BigInt(dayMs)) / BigInt(Math.round(forMs));
    return { name, balance, available: balance + limit, spentPerDay };
  });
  return figures.toSorted((one, other) => descending(one.spentPerDay, other.spentPerDay));
}

async function keysByShare(queries: Kysely<Schema>, max: number, now: number): Promise<readonly KeyMoney[]> {
  const rows = await queries
    .selectFrom('keys')
    .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
    .where('keys.status', '=', 'active')
    .where('keys.budget_limit', '>', 0n)
    .select(['keys.id', 'workspaces.name as workspace', 'keys.budget_limit as limit'])
    .execute();
  const ids = rows.map(({ id }) => id);
  const spentOf = await spentBy(queries, ids, now);
  const keys = rows.map(({ id, workspace, limit }) => ({
    ...{ id, workspace, limit: limit ?? 0n },
    spent: spentOf.get(id) ?? 0n,
  }));
  return keys.toSorted((one, other) => descending(one.spent * other.limit, other.spent * one.limit)).slice(0, max);
}

function descending(one: bigint, other: bigint): number {
  return one === other ? 0 : one > other ? -1 : 1;
}
