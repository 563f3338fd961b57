import { type Kysely, type RawBuilder, sql } from 'kysely';
import { errorKinds } from '../core/error-kinds.ts';
import { sourcesOf } from './ledger-filter.ts';
import type { LedgerFilter, LinesOfPage, UsageDimension, UsageLine, UsagePerformance } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { atOneMoment } from '../databases/one-moment.ts';
import { exactTotal, moneyUnit } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { groupColumn, inOrderOfTop, rankedDimension, type Top, topOf } from './top-groups.ts';
import { histogramColumns, kindCodes, periodMs, quantileOf, surfaceCodes } from './usage-rollup.ts';

const hourMs = periodMs.usage_hours;
const dayMs = periodMs.usage_days;
/** Day 0 of the rollups is a Thursday: weeks are counted from the Monday before it. */
const daysToMonday = 3;

/** `performance`: also errors, and times to the first token, for which the buckets of the histogram are summed. */
export type UsageMeasures = 'sums' | 'performance';

export interface UsageReportOptions {
  /** Default: `sums`. */
  readonly measures?: UsageMeasures;
  /**
   * Only this many models, keys or workspaces have lines of their own: those with the highest cost over the whole time.
   * Values of a tag likewise. Each period has one more line for the sum of all others; its model, key, workspace or value is undefined. Needs one of
   * these dimensions, and allows only `hour`, `day` or `week` beside it.
   */
  readonly top?: number | undefined;
  /** Only these lines of the report. Default: all. */
  readonly page?: LinesOfPage | undefined;
}

/**
 * Sums usage along the dimensions, exactly, from the rollups: whole days from the rollups of days, the rest from those
 * of hours. Lines are in the order of their dimensions. With `top` they are in the order of periods, then of costs, and
 * the sum of the others is last. Throws a `Refusal` if the time does not begin and end with a UTC hour, or if `top`
 * does not fit the dimensions.
 */
export async function usageReport(
  queries: Kysely<Schema>,
  filter: LedgerFilter,
  dimensions: readonly UsageDimension[],
  { measures = 'sums', top: size, page }: UsageReportOptions = {},
): Promise<readonly UsageLine[]> {
  for (const [option, field, moment] of [
    ['--since', 'from', filter.since],
    ['--until', 'to', filter.until],
  ] as const) {
    if (moment === undefined || moment % hourMs === 0) continue;
    throw refusal('report_not_whole_hours', { option }, { field });
  }
  const ranked = size === undefined ? undefined : rankedDimension(dimensions);
  // Both queries read the state of one moment: one ranks the top, the other sums it.
  return atOneMoment(queries, async (transaction) => {
    const top =
      ranked === undefined || size === undefined ? undefined : await topOf(transaction, { filter, ranked, size });
    const source = named(filter, dimensions, { measures, top });
    const readPage = top === undefined ? page : undefined;
    const { rows } = await report(source, dimensions, { measures, page: readPage }).execute(transaction);
    const lines = rows.map((row) => lineOf(row, measures));
    if (top === undefined) return lines;
    const { offset, limit } = page ?? { offset: 0, limit: lines.length };
    return inOrderOfTop(lines, top).slice(offset, offset + limit);
  });
}

interface Reading {
  readonly measures: UsageMeasures;
  readonly top: Top | undefined;
}

interface SummedRow {
  /** Null: the sum of all groups that are not in the top. */
  readonly workspace?: string | null;
  readonly key?: string | null;
  readonly model?: string | null;
  readonly surface?: number | bigint;
  readonly tag?: string | null;
  readonly week?: number | bigint;
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
  readonly [column: string]: string | number | bigint | null | undefined;
}

const counts = [
  ...(['requests', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'web_searches'] as const),
] as const;
const sums = [...counts, 'cost_high', 'cost_low'] as const;
const buckets = histogramColumns('first_token');
const isError = sql`case when outcome in (${sql.join(errorKinds.map((kind) => sql.lit(kindCodes.codeOf(kind))))}) then requests else 0 end`;

/** The sums besides `counts` and the cost. */
function furtherOf(measures: UsageMeasures): readonly string[] {
  return measures === 'performance' ? ['errors', ...buckets] : [];
}

/**
 * The lines of a source whose columns are the dimensions and the sums. The lines of the keys of one workspace, and of the tags with
 * one value, are added up; otherwise each group is one line of the source already.
 */
function report(
  source: RawBuilder<unknown>,
  dimensions: readonly UsageDimension[],
  { measures, page }: { readonly measures: UsageMeasures; readonly page: LinesOfPage | undefined },
) {
  const by = dimensions.map((dimension) => sql.ref(dimension));
  const isSummed = dimensions.includes('workspace') || dimensions.includes('tag');
  const columns = [...sums, ...furtherOf(measures)].map((sum) =>
    isSummed ? sql`${total(sql.ref(sum))} as ${sql.ref(sum)}` : sql.ref(sum),
  );
  const from = sql`from (${source}) as source`;
  const grouped = isSummed ? sql`group by ${sql.join(by)} having sum(requests) > 0` : sql`where requests > 0`;
  const lines = by.length === 0 ? sql`` : sql`${grouped} order by ${sql.join(by)}`;
  const those = page === undefined ? sql`` : sql`limit ${page.limit} offset ${page.offset}`;
  return sql<SummedRow>`select ${sql.join([...by, ...columns])} ${from} ${lines} ${those}`;
}

/** A sum of counts; PostgreSQL widens a sum of bigints, so it is cast back. */
function total(of: RawBuilder<unknown>): RawBuilder<bigint> {
  return sql`cast(coalesce(sum(${of}), 0) as bigint)`;
}

/** The rollups, first summed by their numbers: names are looked up for the sums, not for each row. */
function named(
  filter: LedgerFilter,
  dimensions: readonly UsageDimension[],
  { measures, top }: Reading,
): RawBuilder<unknown> {
  const asked = new Set(dimensions);
  const byKey = asked.has('key') || asked.has('workspace');
  const columns = [
    ...(byKey ? [sql`key`] : []),
    ...(asked.has('model') ? [sql`model`] : []),
    ...(asked.has('surface') ? [sql`surface`] : []),
    ...(asked.has('tag') ? [sql`tag`] : []),
    ...(asked.has('week') ? [sql`week`] : []),
    ...(asked.has('day') ? [sql`day`] : []),
    ...(asked.has('hour') ? [sql`hour`] : []),
  ];
  const grouped = columns.length === 0 ? sql`` : sql`group by ${sql.join(columns)}`;
  const parts = sourcesOf(filter, dimensions).map(({ table, from, to, tag, condition, times }) => {
    const hour = table === 'usage_hours' ? sql`period` : sql`period * 24`;
    const day = table === 'usage_hours' ? sql`period / 24` : sql`period`;
    const signed = (value: RawBuilder<unknown>) => (times === 1 ? value : sql`-${value}`);
    const summed = [...counts, 'cost', ...(measures === 'sums' ? [] : buckets)].map(
      (name) => sql`${signed(sql.ref(name))} as ${sql.ref(name)}`,
    );
    if (measures === 'performance') summed.push(sql`${signed(isError)} as errors`);
    return sql`select ${groupColumn('key', top)} as key, ${groupColumn('model', top)} as model, surface,
        ${groupColumn('tag', top, tag)} as tag, ${hour} as hour, ${day} as day,
        (${day} + ${sql.lit(daysToMonday)}) / 7 as week, ${sql.join(summed)}
      from ${sql.table(table)} where period >= ${from} and period < ${to} and ${condition}`;
  });
  const unit = sql.lit(moneyUnit);
  const numbered = sql`select ${sql.join([
    ...columns,
    ...[...counts, ...furtherOf(measures)].map((count) => sql`${total(sql.ref(count))} as ${sql.ref(count)}`),
    sql`${total(sql`cost / ${unit}`)} as cost_high`,
    sql`${total(sql`cost % ${unit}`)} as cost_low`,
  ])} from (${sql.join(parts, sql` union all `)}) as parts ${grouped}`;
  const none = sql`null`;
  const join = top === undefined ? sql`join` : sql`left join`;
  return sql`select ${asked.has('workspace') ? sql`workspaces.name` : none} as workspace,
      ${asked.has('key') ? sql`ledger_keys.key_id` : none} as key,
      ${asked.has('model') ? sql`ledger_models.name` : none} as model,
      ${asked.has('surface') ? sql`surface` : none} as surface,
      ${asked.has('tag') ? sql`case when numbered.tag = 0 then '' else ledger_tags.value end` : none} as tag,
      ${asked.has('hour') ? sql`hour` : none} as hour, ${asked.has('week') ? sql`week` : none} as week, ${asked.has('day') ? sql`day` : none} as day,
      ${sql.join([...sums, ...furtherOf(measures)].map((sum) => sql.ref(sum)))}
    from (${numbered}) as numbered
    ${byKey ? sql`${join} ledger_keys on ledger_keys.number = numbered.key` : sql``}
    ${asked.has('workspace') ? sql`${join} workspaces on workspaces.id = ledger_keys.workspace_id` : sql``}
    ${asked.has('model') ? sql`${join} ledger_models on ledger_models.number = numbered.model` : sql``}
    ${asked.has('tag') ? sql`left join ledger_tags on ledger_tags.number = numbered.tag` : sql``}`;
}

function lineOf(row: SummedRow, measures: UsageMeasures): UsageLine {
  return {
    workspace: row.workspace ?? undefined,
    key: row.key ?? undefined,
    model: row.model ?? undefined,
    surface: row.surface === undefined ? undefined : surfaceCodes.nameOf(Number(row.surface)),
    tag: row.tag ?? undefined,
    week: row.week === undefined ? undefined : isoOf((Number(row.week) * 7 - daysToMonday) * dayMs).slice(0, 10),
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
