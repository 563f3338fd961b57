import { type Expression, type ExpressionBuilder, type Kysely, sql, type SqlBool } from 'kysely';
import type { Outcome } from '../core/account.ts';
import type { Money } from '../core/money.ts';
import { exactSum, exactTotal, outcomeOf, type Schema } from './schema.ts';

const dayMs = 86_400_000;

export const usageDimensions = ['workspace', 'key', 'model', 'day'] as const;
export type UsageDimension = (typeof usageDimensions)[number];

/** Which rows of the ledger; an absent field does not restrict. */
export interface LedgerFilter {
  readonly workspaceId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly modelId?: string | undefined;
  /** Started at or after this moment, milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  /** Started before this moment. */
  readonly until?: number | undefined;
}

/** One line of a report. Dimensions that were not asked for are undefined. */
export interface UsageLine {
  /** Name of the workspace. */
  readonly workspace: string | undefined;
  /** Id of the key. */
  readonly key: string | undefined;
  readonly model: string | undefined;
  /** UTC day, `2026-07-01`. */
  readonly day: string | undefined;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly webSearches: number;
  readonly cost: Money;
}

/** Sums the ledger along the dimensions, exactly. */
export async function usageReport(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  dimensions: readonly UsageDimension[],
): Promise<readonly UsageLine[]> {
  const day = sql<bigint>`ledger.started_at - ledger.started_at % ${sql.lit(dayMs)}`;
  const columns = {
    workspace: sql<string>`workspaces.name`,
    key: sql<string>`ledger.key_id`,
    model: sql<string>`ledger.model_id`,
    day,
  } as const;
  let query = queries
    .selectFrom('ledger')
    .innerJoin('workspaces', 'workspaces.id', 'ledger.workspace_id')
    .where((row) => matches(row, filter))
    .select((row) => [
      row.fn.countAll<bigint>().as('requests'),
      whole('prompt_tokens').as('prompt_tokens'),
      whole('completion_tokens').as('completion_tokens'),
      whole('cached_tokens').as('cached_tokens'),
      whole('reasoning_tokens').as('reasoning_tokens'),
      whole('web_searches').as('web_searches'),
      ...exactSum('ledger.cost', 'cost'),
    ]);
  for (const dimension of dimensions) query = query.groupBy(columns[dimension]).orderBy(columns[dimension]);
  const rows = await query
    .$if(dimensions.includes('workspace'), (selected) => selected.select(columns.workspace.as('workspace')))
    .$if(dimensions.includes('key'), (selected) => selected.select(columns.key.as('key')))
    .$if(dimensions.includes('model'), (selected) => selected.select(columns.model.as('model')))
    .$if(dimensions.includes('day'), (selected) => selected.select(columns.day.as('day')))
    .execute();
  return rows.map((row) => ({
    workspace: row.workspace,
    key: row.key,
    model: row.model,
    day: row.day === undefined ? undefined : new Date(Number(row.day)).toISOString().slice(0, 10),
    requests: Number(row.requests),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    cachedTokens: Number(row.cached_tokens),
    reasoningTokens: Number(row.reasoning_tokens),
    webSearches: Number(row.web_searches),
    cost: exactTotal(row.cost_high, row.cost_low),
  }));
}

/** The rows themselves, newest first. */
export async function listRequests(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  limit: number,
): Promise<readonly Outcome[]> {
  const rows = await queries
    .selectFrom('ledger')
    .selectAll()
    .where((row) => matches(row, filter))
    .orderBy('started_at', 'desc')
    .orderBy('request_id')
    .limit(limit)
    .execute();
  return rows.map(outcomeOf);
}

function matches(row: ExpressionBuilder<Pick<Schema, 'ledger'>, 'ledger'>, filter: LedgerFilter): Expression<SqlBool> {
  const { workspaceId, keyId, modelId, since, until } = filter;
  const conditions: Expression<SqlBool>[] = [];
  if (workspaceId !== undefined) conditions.push(row('ledger.workspace_id', '=', workspaceId));
  if (keyId !== undefined) conditions.push(row('ledger.key_id', '=', keyId));
  if (modelId !== undefined) conditions.push(row('ledger.model_id', '=', modelId));
  if (since !== undefined) conditions.push(row('ledger.started_at', '>=', BigInt(since)));
  if (until !== undefined) conditions.push(row('ledger.started_at', '<', BigInt(until)));
  return row.and(conditions);
}

/** A sum of counts; PostgreSQL widens a sum of bigints, so it is cast back. */
function whole(column: 'prompt_tokens' | 'completion_tokens' | 'cached_tokens' | 'reasoning_tokens' | 'web_searches') {
  return sql<bigint>`cast(coalesce(sum(${sql.ref(`ledger.${column}`)}), 0) as bigint)`;
}
