import { type Kysely, sql, type Transaction } from 'kysely';
import type { TagBudget } from '../../core/account.ts';
import { type Authorship, type Budget, Refusal, type TagBudgetRecord } from '../../core/administration.ts';
import { shownBudget } from '../../core/shown.ts';
import { tagForm, tagOf, tagText } from '../../core/tags.ts';
import { exactSum, exactTotal, type Schema } from '../databases/schema.ts';
import { periodMs } from '../ledger/usage-rollup.ts';
import { recordChange } from './audit.ts';
import { periodStart } from './budget-period.ts';
import { findWorkspace } from './workspaces.ts';

const dayMs = periodMs.usage_tags;

/**
 * Sets the budget of a tag in a workspace, or removes it. It counts all requests of the current period that had the tag.
 * Throws a `Refusal` if there is no such workspace, or if the tag has a wrong form.
 */
export async function setTagBudget(
  queries: Kysely<Schema>,
  nameOrId: string,
  { tag: text, budget }: { readonly tag: string; readonly budget: Budget | undefined },
  by: Authorship,
): Promise<readonly TagBudgetRecord[]> {
  const tag = tagOf(text);
  if (tag === undefined) throw new Refusal(`"${text}" is no tag: expected ${tagForm}.`, { field: 'tag' });
  return queries.transaction().execute(async (transaction) => {
    const { id: workspaceId } = await findWorkspace(transaction, nameOrId);
    const number = await numberOf(transaction, workspaceId, tag);
    const before = await transaction.selectFrom('tag_budgets').selectAll().where('tag', '=', number).executeTakeFirst();
    if (budget === undefined) await transaction.deleteFrom('tag_budgets').where('tag', '=', number).execute();
    else {
      const row = { budget_limit: budget.limit, budget_period: budget.period };
      await transaction
        .insertInto('tag_budgets')
        .values({ tag: number, ...row })
        .onConflict((conflict) => conflict.column('tag').doUpdateSet(row))
        .execute();
    }
    const was = before && { limit: before.budget_limit, period: before.budget_period };
    const shown = (of: Budget | undefined) => ({
      tag: tagText(tag),
      budget: of === undefined ? null : shownBudget(of),
    });
    const change = { action: 'workspace.tag-budget', objectId: workspaceId, workspaceId } as const;
    await recordChange(transaction, { ...change, before: shown(was), after: shown(budget) }, by);
    return listTagBudgets(transaction, workspaceId, by.now);
  });
}

/** Finds the number of a tag, and numbers it if it is new, whatever the bounds of requests are. */
async function numberOf(
  transaction: Transaction<Schema>,
  workspaceId: string,
  { name, value }: { readonly name: string; readonly value: string },
): Promise<number> {
  await transaction
    .insertInto('ledger_tags')
    .values({ workspace_id: workspaceId, name, value })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'name', 'value']).doNothing())
    .execute();
  const { number } = await transaction
    .selectFrom('ledger_tags')
    .select('number')
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', name)
    .where('value', '=', value)
    .executeTakeFirstOrThrow();
  return Number(number);
}

/** The budgets of a workspace's tags with what is spent of each, in the order of tags. */
export async function listTagBudgets(
  queries: Kysely<Schema>,
  workspaceId: string,
  now: number,
): Promise<readonly TagBudgetRecord[]> {
  const budgets = (await tagBudgetsOf(queries, [workspaceId], now)).get(workspaceId) ?? [];
  return budgets.map(({ tag, limit, period, spent }) => ({ tag, budget: { limit, period }, spent }));
}

/** The names of tags in a workspace, or in all, and how many values each has. */
export async function listTagNames(
  queries: Kysely<Schema>,
  workspaceId: string | undefined,
): Promise<readonly { readonly name: string; readonly values: number }[]> {
  let query = queries
    .selectFrom('ledger_tags')
    .select(['name', sql<number | bigint>`count(distinct value)`.as('size')])
    .groupBy('name')
    .orderBy('name');
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', workspaceId);
  return (await query.execute()).map(({ name, size }) => ({ name, values: Number(size) }));
}

/** The budgets of tags, by workspace. Workspaces without any are missing. Reads the rollups of the days of each period. */
export async function tagBudgetsOf(
  queries: Kysely<Schema>,
  workspaceIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, readonly TagBudget[]>> {
  const rows = await queries
    .selectFrom('tag_budgets')
    .innerJoin('ledger_tags', 'ledger_tags.number', 'tag_budgets.tag')
    .selectAll()
    .where('ledger_tags.workspace_id', 'in', workspaceIds)
    .orderBy('ledger_tags.name')
    .orderBy('ledger_tags.value')
    .execute();
  const budgets = new Map<string, TagBudget[]>();
  for (const { workspace_id: id, name, value, number, budget_limit: limit, budget_period: period } of rows) {
    const spent = await spentOn(queries, Number(number), periodStart(period, now));
    const before = budgets.get(id);
    const budget = { tag: tagText({ name, value }), limit, period, spent };
    if (before === undefined) budgets.set(id, [budget]);
    else before.push(budget);
  }
  return budgets;
}

async function spentOn(queries: Kysely<Schema>, tag: number, since: number): Promise<bigint> {
  const { spent_high: high, spent_low: low } = await queries
    .selectFrom('usage_tags')
    .select(exactSum('cost', 'spent'))
    .where('tag', '=', tag)
    .where('period', '>=', since / dayMs)
    .executeTakeFirstOrThrow();
  return exactTotal(high, low);
}
