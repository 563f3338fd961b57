import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Money } from '../../core/money.ts';
import { firstIdAt } from '../core/packed-id.ts';
import { tagText } from '../../core/tags.ts';
import { exactSum, exactTotal } from '../databases/exact-sum.ts';
import type { Schema } from '../databases/schema.ts';
import { idValue, isSqlite } from '../databases/sql-dialect.ts';
import { periodMs } from './usage-rollup.ts';

/** A day of a tag whose rollups differ from the requests that have the tag. */
export interface TagDifference {
  /** `team=search` */
  readonly tag: string;
  /** First moment of the UTC day, milliseconds since the Unix epoch. */
  readonly day: number;
  readonly counted: Money;
  readonly expected: Money;
}

const dayMs = periodMs.usage_tags;

/** The cost and the number of requests of one tag. */
interface TagSums {
  readonly tag: number | bigint | string;
  readonly cost_high: bigint;
  readonly cost_low: bigint;
  readonly requests: number | bigint;
}

/** Compares the rollups of tags with requests, on all whole days from `since` on. */
export async function verifyTags(queries: Kysely<Schema>, since: number): Promise<readonly TagDifference[]> {
  const days = await queries
    .selectFrom('usage_days')
    .select('period')
    .distinct()
    .where('period', '>=', Math.ceil(since / dayMs))
    .orderBy('period')
    .execute();
  const differences: TagDifference[] = [];
  for (const { period } of days) differences.push(...(await verifyDay(queries, Number(period))));
  return differences;
}

async function verifyDay(queries: Kysely<Schema>, period: number): Promise<readonly TagDifference[]> {
  const day = period * dayMs;
  const requests = sumsOf((await tagged(queries, day).execute(queries)).rows);
  const rollups = sumsOf(
    await queries
      .selectFrom('usage_tags')
      .select(['tag', ...exactSum('cost', 'cost'), sql<bigint>`cast(sum(requests) as bigint)`.as('requests')])
      .where('period', '=', period)
      .groupBy('tag')
      .execute(),
  );
  const none = { cost: 0n, requests: 0 };
  const differing = [...new Set([...requests.keys(), ...rollups.keys()])].filter((tag) => {
    const [one, other] = [requests.get(tag) ?? none, rollups.get(tag) ?? none];
    return one.cost !== other.cost || one.requests !== other.requests;
  });
  if (differing.length === 0) return [];
  const tags = await queries.selectFrom('ledger_tags').selectAll().where('number', 'in', differing).execute();
  const texts = new Map(tags.map(({ number, ...tag }) => [Number(number), tagText(tag)]));
  return differing.map((tag) => ({
    tag: texts.get(tag) ?? String(tag),
    day,
    counted: rollups.get(tag)?.cost ?? 0n,
    expected: requests.get(tag)?.cost ?? 0n,
  }));
}

function sumsOf(rows: readonly TagSums[]): ReadonlyMap<number, { readonly cost: Money; readonly requests: number }> {
  return new Map(
    rows.map(({ tag, cost_high: high, cost_low: low, requests }) => [
      Number(tag),
      { cost: exactTotal(high, low), requests: Number(requests) },
    ]),
  );
}

/** The sums of a day's requests by tag. The numbers of a request's tags are a list without its brackets. */
function tagged(queries: Kysely<Schema>, day: number): RawBuilder<TagSums> {
  const list = sql`'[' || requests.tags || ']'`;
  const each = isSqlite(queries) ? sql`json_each(${list})` : sql`json_array_elements_text((${list})::json)`;
  return sql<TagSums>`select each.value as tag, ${sql.join(exactSum('requests.cost', 'cost'))}, count(*) as requests
    from requests, ${each} as each
    where requests.tags <> '' and requests.id >= ${idValue(queries, firstIdAt(day))} and requests.id < ${idValue(queries, firstIdAt(day + dayMs))}
    group by each.value`;
}
