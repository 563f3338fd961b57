import { type RawBuilder, sql } from 'kysely';
import type { LedgerFilter, UsageDimension } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { kindCodes, periodMs, surfaceCodes, type UsageTable } from './usage-rollup.ts';

const hourMs = periodMs.usage_hours;
const dayMs = periodMs.usage_days;

/** Conditions on the columns `key`, `model`, `outcome` and `surface` of a rollup. */
export function usageOfFilter({ workspaceId, keyId, modelId, outcomes, surface }: LedgerFilter): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`];
  if (workspaceId !== undefined)
    conditions.push(sql`key in (select number from ledger_keys where workspace_id = ${workspaceId})`);
  if (keyId !== undefined) conditions.push(sql`key = (select number from ledger_keys where key_id = ${keyId})`);
  if (modelId !== undefined) conditions.push(sql`model = (select number from ledger_models where name = ${modelId})`);
  if (outcomes !== undefined) conditions.push(sql`outcome in (${sql.join(outcomes.map(kindCodes.codeOf))})`);
  if (surface !== undefined) conditions.push(sql`surface = ${surfaceCodes.codeOf(surface)}`);
  return sql.join(conditions, sql` and `);
}

/** Periods of one table of rollups. */
interface Part {
  readonly table: UsageTable;
  /** Number of the first period. */
  readonly from: number;
  /** Number of the period after the last one. */
  readonly to: number;
}

/** Rollups that a report sums. */
interface Source extends Part {
  /** The number of the tag. 0: the requests without the tag. */
  readonly tag: RawBuilder<unknown>;
  readonly condition: RawBuilder<unknown>;
  /** -1: the rollups are subtracted. */
  readonly times: 1 | -1;
}

/**
 * The rollups that a report of whole hours reads. With the dimension `tag` those of the tag's values, and, as the requests
 * without the tag, all rollups of the time less those of the values. Throws a `Refusal` if `tag` is asked for without its name, or
 * for parts of a day.
 */
export function sourcesOf(filter: LedgerFilter, dimensions: readonly UsageDimension[]): readonly Source[] {
  const isOfFilter = usageOfFilter(filter);
  if (!dimensions.includes('tag')) {
    if (filter.tagName !== undefined) throw refusal('tag_name_unused');
    return partsOf(filter, dimensions.includes('hour')).map((part) => ({
      ...part,
      tag: sql`0`,
      condition: isOfFilter,
      times: 1,
    }));
  }
  const { tagName, since = 0, until = 0, workspaceId } = filter;
  if (tagName === undefined) throw refusal('tag_name_missing');
  if (dimensions.includes('hour') || since % dayMs !== 0 || until % dayMs !== 0) {
    throw refusal('tag_report_not_whole_days');
  }
  const ofWorkspace = workspaceId === undefined ? sql`` : sql` and workspace_id = ${workspaceId}`;
  const isOfName = sql`${isOfFilter} and tag in (select number from ledger_tags where name = ${tagName}${ofWorkspace})`;
  return partsOf(filter, false).flatMap(({ from, to }) => {
    const tagged = { table: 'usage_tags', from, to, condition: isOfName } as const;
    return [
      { ...tagged, tag: sql`tag`, times: 1 },
      { table: 'usage_days', from, to, condition: isOfFilter, tag: sql`0`, times: 1 },
      { ...tagged, tag: sql`0`, times: -1 },
    ] as const;
  });
}

/** Beyond every period that a column of 32 bits can hold. */
const never = 2 ** 31 - 1;

/** The periods that a report of whole hours has to read: days, and hours if the time does not begin or end with a day. */
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
