import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { OutcomeKind } from '../core/account.ts';
import { oldRowsOfFilter, usageOfFilter } from './ledger-filter.ts';
import {
  type LedgerFilter,
  Refusal,
  type UsageDimension,
  type UsageLine,
  type UsagePerformance,
} from '../core/administration.ts';
import { isOldLedgerEmpty } from './old-ledger.ts';
import { exactTotal, moneyUnit, type Schema } from './schema.ts';
import { histogramColumns, kindCodes, periodMs, quantileOf, surfaceCodes, type UsageTable } from './usage-rollup.ts';

const hourMs = periodMs.usage_hours;
const dayMs = periodMs.usage_days;

/** `performance`: errors and the times to the first token, too, for which the buckets of the histogram are summed. */
export type UsageMeasures = 'sums' | 'performance';

/**
 * Sums what was used along the dimensions, exactly, from the rollups: whole days from those of days, the rest from those of hours.
 * Throws a `Refusal` when the time does not begin and end with a UTC hour.
 */
export async function usageReport(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  dimensions: readonly UsageDimension[],
  measures: UsageMeasures = 'sums',
): Promise<readonly UsageLine[]> {
  for (const [option, field, moment] of [
    ['--since', 'from', filter.since],
    ['--until', 'to', filter.until],
  ] as const) {
    if (moment === undefined || moment % hourMs === 0) continue;
    throw new Refusal('A report counts whole hours: expected the beginning of a UTC hour.', {
      hint: `Change ${option}, or list single requests with --requests.`,
      field,
    });
  }
  // As of one moment: rows of an older version may be moving to the rollups.
  const rows = await queries
    .transaction()
    .setAccessMode('read only')
    .setIsolationLevel('repeatable read')
    .execute(async (transaction) => {
      const sources = [named(filter, dimensions, measures)];
      if (!(await isOldLedgerEmpty(transaction))) sources.push(oldRows(filter, measures));
      return (await summed(sources, dimensions, measures).execute(transaction)).rows;
    });
  return rows.filter((row) => Number(row.requests) > 0 || dimensions.length === 0).map((row) => lineOf(row, measures));
}

interface SummedRow {
  readonly workspace?: string;
  readonly key?: string;
  readonly model?: string;
  readonly surface?: number | bigint;
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
  readonly errors?: bigint;
  /** The buckets of the histogram. */
  readonly [column: string]: string | number | bigint | undefined;
}

const counts = [
  ...(['requests', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'web_searches'] as const),
] as const;
const sums = [...counts, 'cost_high', 'cost_low'] as const;
const buckets = histogramColumns('first_token');
const errors: readonly OutcomeKind[] = ['interrupted', 'incomplete', 'failed', 'service-lost'];
const isError = sql`case when outcome in (${sql.join(errors.map((kind) => sql.lit(kindCodes.codeOf(kind))))}) then requests else 0 end`;

/** What is summed besides `counts` and the cost. */
function furtherOf(measures: UsageMeasures): readonly string[] {
  return measures === 'performance' ? ['errors', ...buckets] : [];
}

/** Adds up sources whose columns are `workspace`, `key`, `model`, `hour`, `day` and the sums. */
function summed(
  sources: readonly RawBuilder<unknown>[],
  dimensions: readonly UsageDimension[],
  measures: UsageMeasures,
) {
  const by = dimensions.map((dimension) => sql.ref(dimension));
  const columns = [...by, ...[...sums, ...furtherOf(measures)].map((sum) => sql`${total(sum)} as ${sql.ref(sum)}`)];
  const grouped = by.length === 0 ? sql`` : sql`group by ${sql.join(by)} order by ${sql.join(by)}`;
  return sql<SummedRow>`select ${sql.join(columns)} from (${sql.join(sources, sql` union all `)}) as sources ${grouped}`;
}

/** A sum of counts; PostgreSQL widens a sum of bigints, so it is cast back. */
function total(column: string): RawBuilder<bigint> {
  return sql`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;
}

/** The rollups, summed by their numbers first: names are looked up for what is left, not for each row. */
function named(
  filter: LedgerFilter,
  dimensions: readonly UsageDimension[],
  measures: UsageMeasures,
): RawBuilder<unknown> {
  const asked = new Set(dimensions);
  const byKey = asked.has('key') || asked.has('workspace');
  const columns = [
    ...(byKey ? [sql`key`] : []),
    ...(asked.has('model') ? [sql`model`] : []),
    ...(asked.has('surface') ? [sql`surface`] : []),
    ...(asked.has('day') ? [sql`day`] : []),
    ...(asked.has('hour') ? [sql`hour`] : []),
  ];
  const grouped = columns.length === 0 ? sql`` : sql`group by ${sql.join(columns)}`;
  const parts = partsOf(filter, asked.has('hour')).map(({ table, from, to }) => {
    const hour = table === 'usage_hours' ? sql`period` : sql`period * 24`;
    const day = table === 'usage_hours' ? sql`period / 24` : sql`period`;
    const further =
      measures === 'sums' ? sql`` : sql`, ${isError} as errors, ${sql.join(buckets.map((name) => sql.ref(name)))}`;
    return sql`select key, model, surface, ${hour} as hour, ${day} as day,
        ${sql.join(counts.map((count) => sql.ref(count)))}, cost ${further}
      from ${sql.table(table)} where period >= ${from} and period < ${to} and ${usageOfFilter(filter)}`;
  });
  const unit = sql.lit(moneyUnit);
  const numbered = sql`select ${sql.join([
    ...columns,
    ...[...counts, ...furtherOf(measures)].map((count) => sql`${total(count)} as ${sql.ref(count)}`),
    sql`coalesce(sum(cost / ${unit}), 0) as cost_high`,
    sql`coalesce(sum(cost % ${unit}), 0) as cost_low`,
  ])} from (${sql.join(parts, sql` union all `)}) as parts ${grouped}`;
  const none = sql`null`;
  return sql`select ${asked.has('workspace') ? sql`workspaces.name` : none} as workspace,
      ${asked.has('key') ? sql`ledger_keys.key_id` : none} as key,
      ${asked.has('model') ? sql`ledger_models.name` : none} as model,
      ${asked.has('surface') ? sql`surface` : none} as surface,
      ${asked.has('hour') ? sql`hour` : none} as hour, ${asked.has('day') ? sql`day` : none} as day,
      ${sql.join([...sums, ...furtherOf(measures)].map((sum) => sql.ref(sum)))}
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
function oldRows(filter: LedgerFilter, measures: UsageMeasures): RawBuilder<unknown> {
  const unit = sql.lit(moneyUnit);
  const further =
    measures === 'sums'
      ? sql``
      : sql`, case when ledger.kind in (${sql.join(errors)}) then 1 else 0 end, ${sql.join(buckets.map(() => sql`0`))}`;
  return sql`select workspaces.name as workspace, ledger.key_id as key, ledger.model_id as model,
      case ledger.surface when 'chat' then 0 else 1 end as surface, ledger.started_at / ${sql.lit(hourMs)} as hour, ledger.started_at / ${sql.lit(dayMs)} as day, 1 as requests,
      prompt_tokens, completion_tokens, coalesce(cached_tokens, 0), coalesce(reasoning_tokens, 0),
      coalesce(web_searches, 0), cost / ${unit}, cost % ${unit} ${further}
    from ledger join workspaces on workspaces.id = ledger.workspace_id where ${oldRowsOfFilter(filter)}`;
}

function lineOf(row: SummedRow, measures: UsageMeasures): UsageLine {
  return {
    workspace: row.workspace,
    key: row.key,
    model: row.model,
    surface: row.surface === undefined ? undefined : surfaceCodes.nameOf(Number(row.surface)),
    day: row.day === undefined ? undefined : isoOf(Number(row.day) * dayMs).slice(0, 10),
    hour: row.hour === undefined ? undefined : `${isoOf(Number(row.hour) * hourMs).slice(0, 16)}Z`,
    requests: Number(row.requests),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    cachedTokens: Number(row.cached_tokens),
    reasoningTokens: Number(row.reasoning_tokens),
    webSearches: Number(row.web_searches),
    cost: exactTotal(row.cost_high, row.cost_low),
    performance: measures === 'sums' ? undefined : performanceOf(row),
  };
}

function performanceOf(row: SummedRow): UsagePerformance {
  const times = buckets.map((name) => Number(row[name] ?? 0));
  return {
    errors: Number(row.errors ?? 0n),
    firstTokenP50Ms: quantileOf('first_token', times, 0.5),
    firstTokenP95Ms: quantileOf('first_token', times, 0.95),
  };
}

function isoOf(moment: number): string {
  return new Date(moment).toISOString();
}
