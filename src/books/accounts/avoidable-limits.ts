import { type Kysely, sql } from 'kysely';
import { keyFields, workspaceFields } from '../../core/account.ts';
import { tagsIn, tagText } from '../../core/tags.ts';
import type { AvoidableLimit } from '../../core/avoidable-limit.ts';
import { byIds } from '../databases/by-ids.ts';
import { fieldsOfRow } from '../databases/account-columns.ts';
import type { Schema } from '../databases/schema.ts';
import { identityOf } from './identities.ts';

/** Enforced limits of the tags of a workspace. */
interface TagLimits {
  readonly workspace: string;
  /** Tags with a limit in tokens a minute; none if the workspace has such a limit, too. */
  readonly tokens: readonly string[];
  /** Tags with a budget. */
  readonly budgets: readonly string[];
}

/** Keys of a workspace, or accounts of an identity, that have the same limits of their own. */
interface Callers {
  readonly count: number;
  readonly name: string;
  /** Names of tags that they cannot leave out. */
  readonly fixed: ReadonlySet<string>;
  readonly hasTokens: boolean;
  readonly hasBudget: boolean;
}

/**
 * The limits and budgets of tags that a caller of the workspace can avoid: it can leave the tag out, because no identity puts it
 * on its requests, and has no limit in tokens, or no budget, of its own. Limits that are not enforced limit nobody, and are missing.
 * So are callers that are suspended or expired, and the portal's playground, whose requests have no tags.
 */
export async function avoidableLimits(queries: Kysely<Schema>, now: number): Promise<readonly AvoidableLimit[]> {
  const limits = await limitsOfTags(queries);
  if (limits.size === 0) return [];
  const callers = await callersOf(queries, [...limits.keys()], now);
  return [...limits].flatMap(([id, { workspace, tokens, budgets }]) => {
    const avoiding = (callers.get(id) ?? []).flatMap((some) => {
      const left = [...(some.hasTokens ? [] : tokens), ...(some.hasBudget ? [] : budgets)];
      const tags = left.filter((tag) => tagsIn(tag).some(({ name }) => !some.fixed.has(name)));
      return tags.length === 0 ? [] : [{ ...some, tags }];
    });
    const [first] = avoiding;
    if (first === undefined) return [];
    const tags = [...new Set(avoiding.flatMap((some) => some.tags))].toSorted();
    return [{ workspace, tags, callers: avoiding.reduce((sum, { count }) => sum + count, 0), caller: first.name }];
  });
}

/** The limits of the tags of each workspace that has some. */
async function limitsOfTags(queries: Kysely<Schema>): Promise<ReadonlyMap<string, TagLimits>> {
  const tags = queries.selectFrom('tag_budgets').innerJoin('ledger_tags', 'ledger_tags.number', 'tag_budgets.tag');
  const budgets = await tags.select(['ledger_tags.workspace_id', 'ledger_tags.name', 'ledger_tags.value']).execute();
  const byWorkspace = Map.groupBy(budgets, (row) => row.workspace_id);
  const workspaces = await queries
    .selectFrom('workspaces')
    .selectAll()
    .where((where) =>
      where.or([
        where('tag_tokens_per_minute', 'is not', null),
        where('id', 'in', tags.select('ledger_tags.workspace_id')),
      ]),
    )
    .execute();
  return new Map(
    workspaces.map((row) => {
      const { tagTokensPerMinute = {}, tokensPerMinute, notEnforced = [] } = fieldsOfRow(workspaceFields, row);
      const isLimited = tokensPerMinute !== undefined && !notEnforced.includes('workspace-tokens');
      const hasTokens = !isLimited && !notEnforced.includes('tag-tokens');
      const hasBudgets = !notEnforced.includes('tag-budget');
      const limits = {
        workspace: row.name,
        tokens: hasTokens ? Object.keys(tagTokensPerMinute) : [],
        budgets: hasBudgets ? (byWorkspace.get(row.id) ?? []).map(tagText) : [],
      };
      return [row.id, limits];
    }),
  );
}

async function callersOf(
  queries: Kysely<Schema>,
  workspaceIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, readonly Callers[]>> {
  const identities = new Map(
    (await queries.selectFrom('identities').selectAll().execute()).map((row) => [row.id, identityOf(row)]),
  );
  const rows = await byIds(workspaceIds, (ids) =>
    queries
      .selectFrom('keys')
      .where('workspace_id', 'in', ids)
      .where('status', '=', 'active')
      .where('playground_of', 'is', null)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', BigInt(now))]))
      .groupBy(['workspace_id', 'identity_id', 'not_enforced', hasTokens, hasBudget])
      .select(['workspace_id', 'identity_id', 'not_enforced', hasTokens.as('has_tokens'), hasBudget.as('has_budget')])
      .select(({ fn }) => [
        fn.countAll<bigint | number | string>().as('count'),
        sql<string>`min(coalesce(name, id))`.as('name'),
      ])
      .orderBy('name')
      .execute(),
  );
  return Map.groupBy(
    rows.map((row) => {
      const identity = row.identity_id === null ? undefined : identities.get(row.identity_id);
      const { not_enforced: cell } = row;
      const { notEnforced = [] } = fieldsOfRow({ notEnforced: keyFields.notEnforced }, { not_enforced: cell });
      return {
        workspaceId: row.workspace_id,
        count: Number(row.count),
        name: identity === undefined ? row.name : `of the identity ${identity.name}`,
        fixed: new Set(Object.keys(identity?.tags ?? {})),
        hasTokens: Number(row.has_tokens) === 1 && !notEnforced.includes('tokens'),
        hasBudget: Number(row.has_budget) === 1 && !notEnforced.includes('budget'),
      };
    }),
    ({ workspaceId }) => workspaceId,
  );
}

const hasTokens = sql<number | bigint>`case when tokens_per_minute is null then 0 else 1 end`;
const hasBudget = sql<number | bigint>`case when budget_limit is null then 0 else 1 end`;
