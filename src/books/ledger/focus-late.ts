import type { Kysely } from 'kysely';
import { parseUsd } from '../../core/money.ts';
import { keyOwners } from '../accounts/keys.ts';
import { listWorkspaces } from '../accounts/workspaces.ts';
import { monthStart, nextMonth } from '../core/statement.ts';
import type { Schema } from '../databases/schema.ts';
import { type FocusFacts, focusRow, type FocusRow, labelTags } from './focus-columns.ts';
import { billedLate } from './statements.ts';
import { periodMs } from './usage-rollup.ts';

export interface FocusLateOptions {
  /** First moments of UTC days; a month is in it with its last day. Undefined: no bound. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly workspaceId?: string | undefined;
  readonly provider: string;
}

/**
 * The rows about late usage of months, by key. It is in the rows of its day (`focusDay`), because rollups know no statements. A
 * row takes it out of its month again, which so sums to its statement, and a correction puts it into the month that bills it.
 */
export async function focusLate(
  queries: Kysely<Schema>,
  { since = 0, until = Infinity, workspaceId, provider }: FocusLateOptions,
  now: number,
): Promise<readonly FocusRow[]> {
  const isIn = (month: string): boolean => {
    const lastDay = monthStart(nextMonth(month)) - periodMs.usage_days;
    return since <= lastDay && lastDay < until;
  };
  const rows: FocusRow[] = [];
  for (const { id, name, labels } of await listWorkspaces(queries)) {
    if (workspaceId !== undefined && id !== workspaceId) continue;
    const late = (await billedLate(queries, id, now)).filter(({ month, billed }) => isIn(month) || isIn(billed));
    const owners = await keyOwners(queries, [...new Set(late.map(({ key }) => key))]);
    for (const { month, billed, key, cost: text, requests } of late) {
      const cost = parseUsd(text) ?? 0n;
      const facts: Omit<FocusFacts, 'billed'> = {
        ...{ from: monthStart(month), until: monthStart(nextMonth(month)), key, owner: owners.get(key) },
        ...{ workspace: { id, name }, tags: labelTags(labels), provider },
      };
      const what = `${requests} late requests of ${month}`;
      const moved = { sort: 'moved', description: `${what}, billed in ${billed}`, cost: -cost } as const;
      if (isIn(month)) rows.push(focusRow(moved, { ...facts, billed: month }));
      if (isIn(billed)) rows.push(focusRow({ sort: 'late', description: what, cost }, { ...facts, billed }));
    }
  }
  return rows;
}
