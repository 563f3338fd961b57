import { type Kysely, sql, type Transaction } from 'kysely';
import { type TagBudget, tagBudgetFields, type TagBudgetRecord } from '../../core/account.ts';
import type { Authorship, Budget } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { defaultThresholds, type Thresholds } from '../../core/alert.ts';
import { listBounds } from '../../core/limits.ts';
import { shownBudget } from '../core/field-kinds.ts';
import { type Tag, tagForm, tagOf, tagText } from '../../core/tags.ts';
import { columnsOf, fieldsOfRow } from '../databases/account-columns.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { readSizes } from '../ledger/counted-tags.ts';
import { periodMs } from '../ledger/usage-rollup.ts';
import { recordChange } from './audit.ts';
import { dayOfPeriod } from './day-of-period.ts';
import { refuseBeyond, refuseMore } from './list-bounds.ts';
import { ownThresholds, shownThresholds, storeThresholds, tagObjectId } from './thresholds.ts';
import { lockWorkspace } from './workspaces.ts';

/**
 * Sets the budget of a tag in a workspace, or removes it. It counts all requests of the current period that had the tag.
 * Throws a `Refusal` if there is no such workspace, if the tag or a threshold has a wrong form, and if the workspace has as
 * many budgets of tags as it may have.
 */
export async function setTagBudget(
  queries: Kysely<Schema>,
  nameOrId: string,
  {
    tag: text,
    budget,
    thresholds,
  }: {
    readonly tag: string;
    readonly budget: Budget | undefined;
    /** Undefined: as they are, at first the default. They go with the budget. */
    readonly thresholds?: Thresholds | 'default' | undefined;
  },
  by: Authorship,
): Promise<readonly TagBudgetRecord[]> {
  const tag = tagOf(text);
  if (tag === undefined) throw refusal('tag_malformed', { tag: text, form: tagForm });
  return queries.transaction().execute(async (transaction) => {
    const { id: workspaceId } = await lockWorkspace(transaction, nameOrId);
    const known = await numberOf(transaction, workspaceId, tag);
    // A tag that nobody has used has no budget to remove.
    if (known === undefined && budget === undefined) return listTagBudgets(transaction, workspaceId, by.now);
    const number = known ?? (await addTag(transaction, workspaceId, tag));
    const before = await transaction.selectFrom('tag_budgets').selectAll().where('tag', '=', number).executeTakeFirst();
    if (budget === undefined) await transaction.deleteFrom('tag_budgets').where('tag', '=', number).execute();
    else {
      if (before === undefined) await refuseMoreBudgets(transaction, workspaceId);
      const row = columnsOf(tagBudgetFields, { budget });
      await transaction
        .insertInto('tag_budgets')
        .values({ tag: number, ...row })
        .onConflict((conflict) => conflict.column('tag').doUpdateSet(row))
        .execute();
    }
    const was = before && fieldsOfRow(tagBudgetFields, before).budget;
    const objectId = tagObjectId(number);
    const ownBefore = (await ownThresholds(transaction, [objectId])).get(objectId);
    const wanted = thresholds === 'default' ? undefined : (thresholds ?? ownBefore);
    const own = await storeThresholds(transaction, objectId, budget && wanted);
    const shown = (of: Budget | undefined, percents: Thresholds | undefined) => ({
      ...{ tag: tagText(tag), budget: of === undefined ? null : shownBudget(of) },
      ...((ownBefore ?? own) !== undefined && shownThresholds(percents)),
    });
    const change = { action: 'workspace.tag-budget', objectId: workspaceId, workspaceId } as const;
    await recordChange(transaction, { ...change, before: shown(was, ownBefore), after: shown(budget, own) }, by);
    return listTagBudgets(transaction, workspaceId, by.now);
  });
}

async function refuseMoreBudgets(transaction: Transaction<Schema>, workspaceId: string): Promise<void> {
  const rows = transaction
    .selectFrom('ledger_tags')
    .innerJoin('tag_budgets', 'tag_budgets.tag', 'ledger_tags.number')
    .where('ledger_tags.workspace_id', '=', workspaceId);
  const entries = 'budgets of tags';
  await refuseMore(rows, listBounds.maxTagBudgets, { list: 'A workspace', entries, field: 'tag' });
}

async function numberOf(
  transaction: Transaction<Schema>,
  workspaceId: string,
  { name, value }: Tag,
): Promise<number | undefined> {
  const row = await transaction
    .selectFrom('ledger_tags')
    .select('number')
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', name)
    .where('value', '=', value)
    .executeTakeFirst();
  return row && Number(row.number);
}

/**
 * Numbers a new tag, also beyond the bounds of requests. Tags are never deleted, so budgets that come and go could add
 * any number of them: a workspace that has as many more as it may have budgets gets no more.
 */
async function addTag(transaction: Transaction<Schema>, workspaceId: string, tag: Tag): Promise<number> {
  const { maxTagBudgets, maxTagNames, maxTagValues } = listBounds;
  const sizes = (await readSizes(transaction, [workspaceId])).get(workspaceId) ?? new Map<string, number>();
  const size = sizes.get(tag.name);
  const [count, max, entries] =
    size === undefined
      ? [sizes.size, maxTagNames + maxTagBudgets, 'names of tags']
      : [size, maxTagValues + maxTagBudgets, `values of the tag "${tag.name}"`];
  const remedy = 'Use one that exists.';
  refuseBeyond(count, max, { list: 'A workspace', entries: `${entries}, which are permanent`, field: 'tag', remedy });
  await transaction
    .insertInto('ledger_tags')
    .values({ workspace_id: workspaceId, ...tag })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'name', 'value']).doNothing())
    .execute();
  const number = await numberOf(transaction, workspaceId, tag);
  if (number === undefined) throw new Error('a tag that was just numbered has no number');
  return number;
}

/** The budgets of a workspace's tags with what is spent of each, in the order of tags. */
export async function listTagBudgets(
  queries: Kysely<Schema>,
  workspaceId: string,
  now: number,
): Promise<readonly TagBudgetRecord[]> {
  const budgets = await numberedBudgets(queries, [workspaceId], now);
  const ids = budgets.map(({ number }) => tagObjectId(number));
  const own = await ownThresholds(queries, ids);
  return budgets.map(({ number, tag, limit, period, spent }) => ({
    ...{ tag, budget: { limit, period }, spent },
    thresholds: own.get(tagObjectId(number)) ?? defaultThresholds,
  }));
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

/** The budgets of tags, by workspace and tag. Workspaces without any are missing. */
export async function tagBudgetsOf(
  queries: Kysely<Schema>,
  workspaceIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, ReadonlyMap<string, TagBudget>>> {
  const budgets = new Map<string, Map<string, TagBudget>>();
  for (const { workspaceId, number: _, ...budget } of await numberedBudgets(queries, workspaceIds, now)) {
    budgets.getOrInsertComputed(workspaceId, () => new Map<string, TagBudget>()).set(budget.tag, budget);
  }
  return budgets;
}

/** One query, however many budgets there are. Sums the rollups of the days of each period. */
async function numberedBudgets(
  queries: Kysely<Schema>,
  workspaceIds: readonly string[],
  now: number,
): Promise<readonly (TagBudget & { readonly workspaceId: string; readonly number: number })[]> {
  const ofPeriod = dayOfPeriod({
    ...{ day: 'usage_tags.period', unitMs: periodMs.usage_tags, period: 'tag_budgets.budget_period', now },
  });
  const rows = await queries
    .selectFrom('ledger_tags')
    .innerJoin('tag_budgets', 'tag_budgets.tag', 'ledger_tags.number')
    .leftJoin('usage_tags', (join) => join.onRef('usage_tags.tag', '=', 'tag_budgets.tag').on(ofPeriod))
    .where('ledger_tags.workspace_id', 'in', workspaceIds)
    .groupBy(budgetColumns)
    .select([...budgetColumns, ...exactSum('usage_tags.cost', 'spent')])
    .orderBy('ledger_tags.name')
    .orderBy('ledger_tags.value')
    .execute();
  return rows.map(({ workspace_id: workspaceId, budget_limit: limit, budget_period: period, ...row }) => ({
    ...{ workspaceId, number: Number(row.number), tag: tagText(row), limit, period },
    spent: exactTotal(row.spent_high, row.spent_low),
  }));
}

const budgetColumns = [
  ...(['ledger_tags.workspace_id', 'ledger_tags.number', 'ledger_tags.name', 'ledger_tags.value'] as const),
  ...(['tag_budgets.budget_limit', 'tag_budgets.budget_period'] as const),
] as const;
