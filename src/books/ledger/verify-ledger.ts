import { type Kysely, sql } from 'kysely';
import type { Money } from '../../core/money.ts';
import { keptSince } from './kept-since.ts';
import { atOneMoment } from '../databases/one-moment.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { usageKeyColumns, usageMeasures } from './usage-rollup.ts';
import { type TagDifference, verifyTags } from './verify-tags.ts';
import { differingMeasures, type RowDifference, verifyRows } from './verify-rows.ts';

/** The books of one workspace. They are right when `balance` equals `expected`, which is `credits` less `costs`. */
export interface WorkspaceBooks {
  readonly id: string;
  readonly name: string;
  readonly requests: number;
  readonly credits: Money;
  /** The sum of the costs in the rollups. */
  readonly costs: Money;
  readonly balance: Money;
  readonly expected: Money;
}

/** A day of a key on which the amount that counts against its budget differs from the cost in the rollups. */
export interface SpendingDifference {
  readonly keyId: string;
  /** First moment of the UTC day, milliseconds since the Unix epoch. */
  readonly day: number;
  readonly counted: Money;
  readonly expected: Money;
}

/** A rollup of a day that is not the sum of the rollups of its hours. */
export interface DayDifference {
  readonly keyId: string;
  readonly model: string;
  /** First moment of the UTC day, milliseconds since the Unix epoch. */
  readonly day: number;
  /** What differs, by name. */
  readonly measures: readonly string[];
}

export interface Books {
  readonly workspaces: readonly WorkspaceBooks[];
  /** Number of compared days, counted for each key. */
  readonly spendingDays: number;
  readonly spendingDifferences: readonly SpendingDifference[];
  readonly dayDifferences: readonly DayDifference[];
  /** Requests are kept from this moment on, and were compared with the rollups of their hours. */
  readonly keptSince: number;
  readonly hours: number;
  readonly rowDifferences: readonly RowDifference[];
  readonly tagDifferences: readonly TagDifference[];
}

/**
 * Proves the books as of one moment, also while services run. A balance must be the credits less the costs in the
 * rollups. The amounts that count against budgets must be these costs by day. The rollups of a day must be the sum of
 * its hours, those of an hour the sum of its kept requests, and those of a tag the sum of the kept requests that have it.
 */
export async function verifyLedger(queries: Kysely<Schema>): Promise<Books> {
  return atOneMoment(queries, async (transaction) => ({
    workspaces: await verifyBalances(transaction),
    ...(await verifySpending(transaction)),
    dayDifferences: await verifyDays(transaction),
    ...(await verifyKept(transaction)),
  }));
}

async function verifySpending(
  transaction: Kysely<Schema>,
): Promise<Pick<Books, 'spendingDays' | 'spendingDifferences'>> {
  const { rows } = await sql<{ key_id: string; day: bigint; counted: bigint; expected: bigint }>`
    select key_id, day, cast(sum(counted) as bigint) as counted, cast(sum(expected) as bigint) as expected
    from (
      select key_id, day, amount as counted, 0 as expected from spending
      union all
      select key_id, cast(period as bigint) * 86400000, 0, cost
      from usage_days join ledger_keys on ledger_keys.number = usage_days.key
    ) as entries
    group by key_id, day
    having sum(counted) <> sum(expected)
    order by key_id, day
  `.execute(transaction);
  const { days } = await transaction
    .selectFrom('spending')
    .select((row) => row.fn.countAll<bigint>().as('days'))
    .executeTakeFirstOrThrow();
  return {
    spendingDays: Number(days),
    spendingDifferences: rows.map((row) => ({
      keyId: row.key_id,
      day: Number(row.day),
      counted: row.counted,
      expected: row.expected,
    })),
  };
}

async function verifyBalances(transaction: Kysely<Schema>): Promise<readonly WorkspaceBooks[]> {
  const workspaces = await transaction
    .selectFrom('workspaces')
    .select(['id', 'name', 'balance'])
    .orderBy('name')
    .execute();
  const credited = await transaction
    .selectFrom('credits')
    .select(['workspace_id', ...exactSum('amount', 'total')])
    .groupBy('workspace_id')
    .execute();
  const counted = await transaction
    .selectFrom('usage_days')
    .innerJoin('ledger_keys', 'ledger_keys.number', 'usage_days.key')
    .select(['ledger_keys.workspace_id', ...exactSum('cost', 'total')])
    .select(sql<bigint>`cast(sum(requests) as bigint)`.as('requests'))
    .groupBy('ledger_keys.workspace_id')
    .execute();
  const credits = new Map(credited.map((row) => [row.workspace_id, exactTotal(row.total_high, row.total_low)]));
  return workspaces.map(({ id, name, balance }) => {
    const spent = counted.find((row) => row.workspace_id === id);
    const costs = spent === undefined ? 0n : exactTotal(spent.total_high, spent.total_low);
    const credit = credits.get(id) ?? 0n;
    return {
      id,
      name,
      requests: Number(spent?.requests ?? 0),
      credits: credit,
      costs,
      balance,
      expected: credit - costs,
    };
  });
}

async function verifyDays(transaction: Kysely<Schema>): Promise<readonly DayDifference[]> {
  const keys = sql.join(usageKeyColumns.map((column) => sql.ref(column)));
  const measures = usageMeasures.map((measure) => sql.ref(measure));
  const negated = sql.join(measures.map((measure) => sql`-${measure}`));
  const sums = usageMeasures.map((measure) => sql`sum(${sql.ref(measure)}) as ${sql.ref(measure)}`);
  const unequal = sql.join(
    measures.map((measure) => sql`sum(${measure}) <> 0`),
    sql` or `,
  );
  const { rows } = await sql<
    Readonly<Record<string, unknown>> & {
      readonly key_id: string;
      readonly name: string;
      readonly period: number | bigint;
    }
  >`
    select period, ledger_keys.key_id, ledger_models.name, differences.* from (
      select ${keys}, ${sql.join(sums)} from (
        select ${keys}, ${sql.join(measures)} from usage_days
        union all
        select period / 24, key, model, surface, outcome, ${negated} from usage_hours
      ) as entries group by ${keys} having ${unequal}
    ) as differences
    join ledger_keys on ledger_keys.number = differences.key
    join ledger_models on ledger_models.number = differences.model
    order by period
  `.execute(transaction);
  return rows.map((row) => ({
    keyId: row.key_id,
    model: row.name,
    day: Number(row.period) * 86_400_000,
    measures: differingMeasures(row),
  }));
}

async function verifyKept(
  transaction: Kysely<Schema>,
): Promise<Pick<Books, 'keptSince' | 'hours' | 'rowDifferences' | 'tagDifferences'>> {
  const kept = await keptSince(transaction);
  const rows = await verifyRows(transaction, kept);
  return { keptSince: kept, ...rows, tagDifferences: await verifyTags(transaction, kept) };
}
