import type { Kysely } from 'kysely';
import { type BudgetPeriod, budgetPeriods } from '../../core/account.ts';
import type { Money } from '../../core/money.ts';
import { tagText } from '../../core/tags.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { periodMs } from '../ledger/usage-rollup.ts';
import { periodEnd, periodStart } from '../core/budget-period.ts';
import { budgetSpending } from './budget-spending.ts';
import { tagObjectId } from './thresholds.ts';

/**
 * How long after the end of a period its last thresholds are still looked for. A look comes some seconds after a
 * settlement, and a settlement after the request that belongs to the period.
 */
const lateMs = 10 * 60_000;

/** How much of an allowance is used: of a workspace's credit, or of the budget of a key or a tag. */
export type UsedAllowance = {
  /** Id of the object that has the thresholds: the workspace, the key or the tag. */
  readonly objectId: string;
  readonly workspaceId: string;
  readonly workspace: string;
  /** Unique in the object: a threshold is reached once in it. */
  readonly period: string;
  readonly used: Money;
  readonly limit: Money;
  /** The part of `used` whose thresholds were reached by the key before. */
  readonly inherited?: Money;
} & (
  | { readonly kind: 'balance' }
  | { readonly kind: 'budget'; readonly keyName: string | null; readonly periodStart: number }
  | { readonly kind: 'tag'; readonly tag: string; readonly periodStart: number }
);

/** The allowances of which something is used. */
export async function allowancesInUse(queries: Kysely<Schema>, now: number): Promise<readonly UsedAllowance[]> {
  const used = [...(await balances(queries))];
  for (const span of budgetPeriods.flatMap((period) => spansOf(period, now))) {
    used.push(...(await budgetsOfKeys(queries, span)), ...(await budgetsOfTags(queries, span)));
  }
  return used;
}

/** The used part of each workspace's balance. The whole is the balance right after the last credit, with the credit limit. */
async function balances(queries: Kysely<Schema>): Promise<readonly UsedAllowance[]> {
  const rows = await queries
    .selectFrom('workspaces')
    .select(['id', 'name', 'balance', 'credit_limit', 'alert_base', 'alert_period'])
    .whereRef('balance', '<', 'alert_base')
    .execute();
  return rows.flatMap(({ id, name, balance, credit_limit: creditLimit, alert_base: base, alert_period: number }) => {
    const [used, limit] = [base - balance, base + creditLimit];
    if (limit <= 0n) return [];
    const of = { objectId: id, workspaceId: id, workspace: name };
    return [{ ...of, kind: 'balance', period: `credit:${number}`, used, limit } as const];
  });
}

interface Span {
  readonly period: BudgetPeriod;
  readonly since: number;
  readonly until: number;
}

/** The current period, and one that has just ended. */
function spansOf(period: BudgetPeriod, now: number): readonly Span[] {
  const since = periodStart(period, now);
  const earlier = periodStart(period, now - lateMs);
  const current = { period, since, until: periodEnd(period, now) };
  return earlier === since ? [current] : [{ period, since: earlier, until: since }, current];
}

async function budgetsOfKeys(
  queries: Kysely<Schema>,
  { period, since, until }: Span,
): Promise<readonly UsedAllowance[]> {
  const rows = await budgetSpending(queries)
    .innerJoin('keys', 'keys.id', 'counted.key_id')
    .innerJoin('workspaces', 'workspaces.id', 'keys.workspace_id')
    .where('keys.budget_period', '=', period)
    .where('keys.budget_limit', '>', 0n)
    .where('keys.status', '<>', 'revoked')
    .where('counted.day', '>=', BigInt(since))
    .where('counted.day', '<', BigInt(until))
    .groupBy(['keys.id', 'workspaces.id'])
    .select(['keys.id', 'keys.workspace_id', 'keys.name', 'keys.budget_limit', 'workspaces.name as workspace'])
    .select(exactSum('counted.amount', 'spent'))
    .select(exactSum('counted.inherited', 'inherited'))
    .execute();
  return rows.map((row) => ({
    kind: 'budget',
    ...{ objectId: row.id, workspaceId: row.workspace_id, workspace: row.workspace, keyName: row.name },
    ...{ period: `${period}:${since}`, periodStart: since },
    used: exactTotal(row.spent_high, row.spent_low),
    inherited: exactTotal(row.inherited_high, row.inherited_low),
    limit: row.budget_limit ?? 0n,
  }));
}

async function budgetsOfTags(
  queries: Kysely<Schema>,
  { period, since, until }: Span,
): Promise<readonly UsedAllowance[]> {
  const sums = queries
    .selectFrom('tag_budgets')
    .innerJoin('usage_tags', 'usage_tags.tag', 'tag_budgets.tag')
    .where('tag_budgets.budget_period', '=', period)
    .where('tag_budgets.budget_limit', '>', 0n)
    .where('usage_tags.period', '>=', since / periodMs.usage_tags)
    .where('usage_tags.period', '<', Math.floor(until / periodMs.usage_tags))
    .groupBy(['tag_budgets.tag', 'tag_budgets.budget_limit'])
    .select(['tag_budgets.tag as number', 'tag_budgets.budget_limit'])
    .select(exactSum('usage_tags.cost', 'spent'));
  const rows = await queries
    .selectFrom(sums.as('sums'))
    .innerJoin('ledger_tags', 'ledger_tags.number', 'sums.number')
    .innerJoin('workspaces', 'workspaces.id', 'ledger_tags.workspace_id')
    .select(['sums.number', 'sums.budget_limit', 'sums.spent_high', 'sums.spent_low'])
    .select(['ledger_tags.name', 'ledger_tags.value', 'workspaces.id', 'workspaces.name as workspace'])
    .execute();
  return rows.map((row) => ({
    kind: 'tag',
    ...{ objectId: tagObjectId(row.number), workspaceId: row.id, workspace: row.workspace, tag: tagText(row) },
    ...{ period: `${period}:${since}`, periodStart: since },
    used: exactTotal(row.spent_high, row.spent_low),
    limit: row.budget_limit,
  }));
}
