import { surfaces } from '../../core/dialect.ts';
import { outcomeKinds } from '../../core/settled-request.ts';

/**
 * Rollups: what was used in an hour, and in a day, with one key, model, surface and outcome. They are written in the transaction
 * that settles the requests they count, and are kept for good. `usage_tags` counts a day of each tag; a request with several
 * tags is in several of its rows.
 */
export type UsageTable = 'usage_hours' | 'usage_days' | 'usage_tags';

/** Milliseconds of a table's periods. A period is the number of the hour or day since the Unix epoch, in UTC. */
export const periodMs = {
  usage_hours: 3_600_000,
  usage_days: 86_400_000,
  usage_tags: 86_400_000,
} as const satisfies Readonly<Record<UsageTable, number>>;

export const surfaceCodes = codes(surfaces);
export const kindCodes = codes(outcomeKinds);

/** Names that are stored as small numbers, read and written. */
interface Codes<Name extends string> {
  readonly codeOf: (name: Name) => number;
  /** Throws a RangeError for a code that this version does not know. */
  readonly nameOf: (code: number) => Name;
}

export function codes<Name extends string>(names: readonly Name[]): Codes<Name> {
  const numbers = new Map(names.map((name, code) => [name, code]));
  return {
    codeOf: (name) => {
      const code = numbers.get(name);
      if (code === undefined) throw new RangeError(`"${name}" has no code`);
      return code;
    },
    nameOf: (code) => {
      const name = names[code];
      if (name === undefined) throw new RangeError(`there is no name for the code ${code}`);
      return name;
    },
  };
}

/**
 * Upper bounds of the buckets of both histograms, milliseconds: a bucket counts the times that are above the bound
 * before it and not above its own. The last bucket, `more`, has no bound. A request without a token is in no bucket of
 * `first_token`.
 */
export const histogramBounds = {
  first_token: [25, 50, 100, 150, 200, 300, 400, 600, 800, 1_200, 1_800, 3_000, 5_000, 10_000, 30_000],
  duration: [100, 250, 500, 1_000, 1_500, 2_000, 3_000, 5_000, 8_000, 12_000, 20_000, 30_000, 60_000, 120_000, 300_000],
} as const;
export type StoredHistogram = keyof typeof histogramBounds;

/** The columns of a histogram, in the order of its bounds. */
export function histogramColumns(histogram: StoredHistogram): readonly string[] {
  return [...histogramBounds[histogram].map((bound) => `${histogram}_le_${bound}`), `${histogram}_more`];
}

/**
 * A quantile of a histogram, milliseconds, interpolated within its bucket. The last bound, if the quantile lies above
 * it. Undefined when nothing was counted. `counts` are in the order of the bounds.
 */
export function quantileOf(
  histogram: StoredHistogram,
  counts: readonly number[],
  quantile: number,
): number | undefined {
  const bounds: readonly number[] = histogramBounds[histogram];
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let left = total * quantile;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && left <= count) {
      const [from, to] = [bounds[index - 1] ?? 0, bounds[index] ?? bounds.at(-1) ?? 0];
      return Math.round(from + (to - from) * (left / count));
    }
    left -= count;
  }
  return bounds.at(-1);
}

/** The buckets of both histograms: 32-bit columns. */
export const histogramMeasures: readonly string[] = [
  ...histogramColumns('first_token'),
  ...histogramColumns('duration'),
];

/** The columns that identify a rollup of an hour or a day. */
export const usageKeyColumns = ['period', 'key', 'model', 'surface', 'outcome'] as const;
/** The columns that identify a rollup, in the order of its primary key. The days of a tag are together. */
export const keyColumnsOf = {
  usage_hours: usageKeyColumns,
  usage_days: usageKeyColumns,
  usage_tags: ['tag', ...usageKeyColumns],
} as const satisfies Readonly<Record<UsageTable, readonly string[]>>;
/** What a rollup sums: 64-bit columns. */
export const usageSumColumns = [
  ...(['requests', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens'] as const),
  ...(['web_searches', 'cost'] as const),
] as const;
/** All that a rollup counts: the sums, then the buckets. */
export const usageMeasures: readonly string[] = [...usageSumColumns, ...histogramMeasures];

const firstTokenAt = usageSumColumns.length;
const durationAt = firstTokenAt + histogramBounds.first_token.length + 1;

/** One row of a rollup, or an addition to it. */
export interface UsageSums {
  /** Number of the tag. 0 in rollups that have none. */
  readonly tag: number;
  readonly period: number;
  readonly key: number;
  readonly model: number;
  readonly surface: number;
  readonly outcome: number;
  /** In the order of `usageMeasures`. */
  readonly measures: readonly bigint[];
}

/** The parts of a settled request that rollups count. Counts that were not reported are 0 here. */
export interface Countable {
  readonly startedAt: number;
  readonly key: number;
  readonly model: number;
  readonly surface: number;
  readonly outcome: number;
  /** Numbers of its tags. */
  readonly tags: readonly number[];
  /** In the order of `usageSumColumns`, without `requests`. */
  readonly sums: readonly bigint[];
  readonly firstTokenMs: number | undefined;
  readonly durationMs: number;
}

/**
 * The additions of requests to a table of rollups, in the order of its primary key. All transactions write rows in this
 * order; otherwise they would deadlock.
 */
export function usageOf(requests: readonly Countable[], table: UsageTable): readonly UsageSums[] {
  const groups = new Map<string, UsageSums & { readonly measures: bigint[] }>();
  for (const request of requests) {
    const { startedAt, key, model, surface, outcome } = request;
    const period = Math.floor(startedAt / periodMs[table]);
    for (const tag of table === 'usage_tags' ? request.tags : untagged) {
      const name = `${tag} ${period} ${key} ${model} ${surface} ${outcome}`;
      const group = groups.getOrInsertComputed(name, () => ({
        tag,
        period,
        key,
        model,
        surface,
        outcome,
        measures: usageMeasures.map(() => 0n),
      }));
      count(group.measures, request);
    }
  }
  return [...groups.values()].toSorted(byKey);
}

const untagged = [0] as const;

function count(measures: bigint[], { sums, firstTokenMs, durationMs }: Countable): void {
  add(measures, 0, 1n);
  for (const [index, sum] of sums.entries()) add(measures, index + 1, sum);
  if (firstTokenMs !== undefined) add(measures, firstTokenAt + bucketOf('first_token', firstTokenMs), 1n);
  add(measures, durationAt + bucketOf('duration', durationMs), 1n);
}

/** Adds requests to all rollups. `addTo` adds to one table. All transactions write the tables in the same order, too. */
export async function addToRollups(
  requests: readonly Countable[],
  addTo: (table: UsageTable, usage: readonly UsageSums[]) => Promise<void>,
): Promise<void> {
  await addTo('usage_hours', usageOf(requests, 'usage_hours'));
  await addTo('usage_days', usageOf(requests, 'usage_days'));
  await addTo('usage_tags', usageOf(requests, 'usage_tags'));
}

function add(measures: bigint[], index: number, amount: bigint): void {
  measures[index] = (measures[index] ?? 0n) + amount;
}

function bucketOf(histogram: StoredHistogram, ms: number): number {
  const bounds: readonly number[] = histogramBounds[histogram];
  const index = bounds.findIndex((bound) => ms <= bound);
  return index < 0 ? bounds.length : index;
}

function byKey(one: UsageSums, other: UsageSums): number {
  for (const column of keyColumnsOf.usage_tags) if (one[column] !== other[column]) return one[column] - other[column];
  return 0;
}
