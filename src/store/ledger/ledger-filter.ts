import { type RawBuilder, sql } from 'kysely';
import type { LedgerFilter } from '../../core/administration.ts';
import { kindCodes, periodMs, type UsageTable } from './usage-rollup.ts';

const hourMs = periodMs.usage_hours;
const dayMs = periodMs.usage_days;

/** Conditions on the columns `key`, `model` and `outcome` of a rollup. */
export function usageOfFilter({ workspaceId, keyId, modelId, outcome }: LedgerFilter): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`];
  if (workspaceId !== undefined)
    conditions.push(sql`key in (select number from ledger_keys where workspace_id = ${workspaceId})`);
  if (keyId !== undefined) conditions.push(sql`key = (select number from ledger_keys where key_id = ${keyId})`);
  if (modelId !== undefined) conditions.push(sql`model = (select number from ledger_models where name = ${modelId})`);
  if (outcome !== undefined) conditions.push(sql`outcome = ${kindCodes.codeOf(outcome)}`);
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

/** Beyond every period that a column of 32 bits can hold. */
const never = 2 ** 31 - 1;

/** The periods that a report of whole hours has to read: days, and hours if the time does not begin or end with a day. */
export function partsOf({ since = 0, until }: LedgerFilter, byHour: boolean): readonly Part[] {
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
