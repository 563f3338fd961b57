import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Money } from '../core/money.ts';
import { type LedgerFilter, oldRowsOfFilter, usageOfFilter } from './ledger-filter.ts';
import { isOldLedgerEmpty } from './old-ledger.ts';
import { exactTotal, moneyUnit, type Schema } from './schema.ts';
import { periodMs, type UsageTable } from './usage-rollup.ts';
import { Refusal } from './workspaces.ts';

export const usageDimensions = ['workspace', 'key', 'model', 'day', 'hour'] as const;
export type UsageDimension = (typeof usageDimensions)[number];

/** One line of a report. Dimensions that were not asked for are undefined. */
export interface UsageLine {
  /** Name of the workspace. */
  readonly workspace: string | undefined;
  /** Id of the key. */
  readonly key: string | undefined;
  readonly model: string | undefined;
  /** UTC day, `2026-07-01`. */
  readonly day: string | undefined;
  /** UTC hour with its day, `2026-07-01T13:00Z`. */
  readonly hour: string | undefined;
  readonly requests: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly webSearches: number;
  readonly cost: Money;
}

const hourMs = periodMs.usage_hours;
const dayMs = periodMs.usage_days;

/**
 * Sums what was used along the dimensions, exactly, from the rollups: whole days from those of days, the rest from those of hours.
 * Throws a `Refusal` when the time does not begin and end with a UTC hour.
 */
export async function usageReport(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  dimensions: readonly UsageDimension[],
): Promise<readonly UsageLine[]> {
  for (const [option, moment] of [
    ['--since', filter.since],
    ['--until', filter.until],
  ] as const) {
    if (moment === undefined || moment % hourMs === 0) continue;
    throw new Refusal(
      `A report counts whole hours: ${option} must be the beginning of a UTC hour, unless with --requests.`,
    );
  }
  // As of one moment: rows of an older version may be moving to the rollups.
  const rows = await queries
    .transaction()
    .setAccessMode('read only')
    .setIsolationLevel('repeatable read')
    .execute(async (transaction) => {
      const sources = [named(filter, dimensions)];
      if (!(await isOldLedgerEmpty(transaction))) sources.push(oldRows(filter));
      return (await summed(sources, dimensions).execute(transaction)).rows;
    });
  return rows.filter((row) => Number(row.requests) > 0 || dimensions.length === 0).map(lineOf);
}

interface SummedRow {
  readonly workspace?: string;
  readonly key?: string;
  readonly model?: string;
  readonly day?: number | bigint;
  readonly hour?: number | bigint;
  readonly requests: bigint;
  readonly prompt_tokens: bigint;
  readonly completion_tokens: bigint;
  readonly cached_tokens: bigint;
  readonly reasoning_tokens: bigint;
  readonly web_searches: bigint;
  readonly cost_high: bigint;
  readonly cost_low: bigint;
}

const counts = [
  ...(['requests', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'web_searches'] as const),
] as const;
const sums = [...counts, 'cost_high', 'cost_low'] as const;

/** Adds up sources whose columns are `workspace`, `key`, `model`, `hour`, `day` and the sums. */
function summed(sources: readonly RawBuilder<unknown>[], dimensions: readonly UsageDimension[]) {
  const by = dimensions.map((dimension) => sql.ref(dimension));
  const columns = [...by, ...sums.map((sum) => sql`${total(sum)} as ${sql.ref(sum)}`)];
  const grouped = by.length === 0 ? sql`` : sql`group by ${sql.join(by)} order by ${sql.join(by)}`;
  return sql<SummedRow>`select ${sql.join(columns)} from (${sql.join(sources, sql` union all `)}) as sources ${grouped}`;
}

/** A sum of counts; PostgreSQL widens a sum of bigints, so it is cast back. */
function total(column: string): RawBuilder<bigint> {
  return sql`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;
}

/** The rollups, summed by their numbers first: names are looked up for what is left, not for each row. */
function named(filter: LedgerFilter, dimensions: readonly UsageDimension[]): RawBuilder<unknown> {
  const asked = new Set(dimensions);
  const byKey = asked.has('key') || asked.has('workspace');
  const columns = [
    ...(byKey ? [sql`key`] : []),
    ...(asked.has('model') ? [sql`model`] : []),
    ...(asked.has('day') ? [sql`day`] : []),
    ...(asked.has('hour') ? [sql`hour`] : []),
  ];
  const grouped = columns.length === 0 ? sql`` : sql`group by ${sql.join(columns)}`;
  const parts = partsOf(filter, asked.has('hour')).map(({ table, from, to }) => {
    const hour = table === 'usage_hours' ? sql`period` : sql`period * 24`;
    const day = table === 'usage_hours' ? sql`period / 24` : sql`period`;
    return sql`select key, model, ${hour} as hour, ${day} as day, ${sql.join(counts.map((count) => sql.ref(count)))}, cost
      from ${sql.table(table)} where period >= ${from} and period < ${to} and ${usageOfFilter(filter)}`;
  });
  const unit = sql.lit(moneyUnit);
  const numbered = sql`select ${sql.join([
    ...columns,
    ...counts.map((count) => sql`${total(count)} as ${sql.ref(count)}`),
    sql`coalesce(sum(cost / ${unit}), 0) as cost_high`,
    sql`coalesce(sum(cost % ${unit}), 0) as cost_low`,
  ])} from (${sql.join(parts, sql` union all `)}) as parts ${grouped}`;
  const none = sql`null`;
  return sql`select ${asked.has('workspace') ? sql`workspaces.name` : none} as workspace,
      ${asked.has('key') ? sql`ledger_keys.key_id` : none} as key,
      ${asked.has('model') ? sql`ledger_models.name` : none} as model,
      ${asked.has('hour') ? sql`hour` : none} as hour, ${asked.has('day') ? sql`day` : none} as day,
      ${sql.join(sums.map((sum) => sql.ref(sum)))}
    from (${numbered}) as numbered
    ${byKey ? sql`join ledger_keys on ledger_keys.number = numbered.key` : sql``}
    ${asked.has('workspace') ? sql`join workspaces on workspaces.id = ledger_keys.workspace_id` : sql``}
    ${asked.has('model') ? sql`join ledger_models on ledger_models.number = numbered.model` : sql``}`;
}

interface Part {
  readonly table: UsageTable;
  /** Number of the first period. */
  readonly from: number;
  /** Number of the period after the last one. */
  readonly to: number;
}

/** Beyond every period that a column of 32 bits can hold. */
const never = 2 ** 31 - 1;

/** What is to be read: days, and hours where the time does not begin or end with a day. */
function partsOf({ since = 0, until }: LedgerFilter, byHour: boolean): readonly Part[] {
  const [firstHour, lastHour] = [since / hourMs, until === undefined ? never : until / hourMs];
  if (byHour) return [{ table: 'usage_hours', from: firstHour, to: lastHour }];
  const [firstDay, lastDay] = [Math.ceil(since / dayMs), until === undefined ? never : Math.floor(until / dayMs)];
  if (firstDay > lastDay) return [{ table: 'usage_hours', from: firstHour, to: lastHour }];
  const parts: readonly Part[] = [
    { table: 'usage_hours', from: firstHour, to: firstDay * 24 },
    { table: 'usage_days', from: firstDay, to: lastDay },
    { table: 'usage_hours', from: lastDay * 24, to: lastHour },
  ];
  const some = parts.filter(({ from, to }) => from < to);
  return some.length === 0 ? parts.slice(1, 2) : some;
}

/** Rows of the version before that have not moved yet. */
function oldRows(filter: LedgerFilter): RawBuilder<unknown> {
  const unit = sql.lit(moneyUnit);
  return sql`select workspaces.name as workspace, ledger.key_id as key, ledger.model_id as model,
      ledger.started_at / ${sql.lit(hourMs)} as hour, ledger.started_at / ${sql.lit(dayMs)} as day, 1 as requests,
      prompt_tokens, completion_tokens, coalesce(cached_tokens, 0), coalesce(reasoning_tokens, 0),
      coalesce(web_searches, 0), cost / ${unit}, cost % ${unit}
    from ledger join workspaces on workspaces.id = ledger.workspace_id where ${oldRowsOfFilter(filter)}`;
}

function lineOf(row: SummedRow): UsageLine {
  return {
    workspace: row.workspace,
    key: row.key,
    model: row.model,
    day: row.day === undefined ? undefined : isoOf(Number(row.day) * dayMs).slice(0, 10),
    hour: row.hour === undefined ? undefined : `${isoOf(Number(row.hour) * hourMs).slice(0, 16)}Z`,
    requests: Number(row.requests),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    cachedTokens: Number(row.cached_tokens),
    reasoningTokens: Number(row.reasoning_tokens),
    webSearches: Number(row.web_searches),
    cost: exactTotal(row.cost_high, row.cost_low),
  };
}

function isoOf(moment: number): string {
  return new Date(moment).toISOString();
}
