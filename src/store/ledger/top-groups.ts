import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type LedgerFilter, Refusal, type UsageDimension, type UsageLine } from '../../core/administration.ts';
import { partsOf, usageOfFilter } from './ledger-filter.ts';
import type { Schema } from '../databases/schema.ts';

/**
 * The dimension whose groups a report of the top ranks. Throws a `Refusal` unless there is exactly one, with no others
 * than `hour` or `day` beside it.
 */
export function rankedDimension(dimensions: readonly UsageDimension[]): 'model' | 'key' {
  const others = dimensions.filter((dimension) => dimension !== 'hour' && dimension !== 'day');
  const [ranked] = others;
  if (others.length === 1 && (ranked === 'model' || ranked === 'key')) return ranked;
  throw new Refusal('A report of the top ranks models or keys: expected one of both, with hour or day beside it.', {
    field: 'top',
  });
}

/** The groups that have lines of their own, by their numbers in the rollups and by their names, those that cost most first. */
export interface Top {
  readonly of: 'model' | 'key';
  readonly groups: readonly { readonly number: number | bigint; readonly name: string }[];
}

export async function topOf(
  queries: Kysely<Schema>,
  { filter, ranked, size }: { readonly filter: LedgerFilter; readonly ranked: Top['of']; readonly size: number },
): Promise<Top> {
  const group = sql.ref(ranked);
  const parts = partsOf(filter, false).map(
    ({ table, from, to }) => sql`select ${group}, cost, requests from ${sql.table(table)}
      where period >= ${from} and period < ${to} and ${usageOfFilter(filter)}`,
  );
  const names =
    ranked === 'key'
      ? sql`select number, key_id as name from ledger_keys`
      : sql`select number, name from ledger_models`;
  // A sum of whole numbers could pass 64 bits. The rounding of this sum does not matter for ranks.
  const { rows } = await sql<Top['groups'][number]>`
    select names.number, names.name from (
      select ${group} as number, sum(cost * 1.0) as cost, sum(requests) as requests
      from (${sql.join(parts, sql` union all `)}) as parts group by ${group}
      order by cost desc, requests desc, number limit ${size}
    ) as ranked join (${names}) as names on names.number = ranked.number
    order by ranked.cost desc, ranked.requests desc, ranked.number
  `.execute(queries);
  return { of: ranked, groups: rows };
}

/** The number that stands for all groups that are not in the top: groups are numbered from 1 on. */
const othersNumber = sql.lit(-1);

export function inOrderOfTop(lines: readonly UsageLine[], { of, groups }: Top): readonly UsageLine[] {
  const ranks = new Map(groups.map(({ name }, rank) => [name, rank]));
  const rankOf = (line: UsageLine): number => ranks.get(line[of] ?? '') ?? groups.length;
  const periodOf = ({ day, hour }: UsageLine): string => hour ?? day ?? '';
  return lines.toSorted((one, other) => {
    const [period, next] = [periodOf(one), periodOf(other)];
    return period === next ? rankOf(one) - rankOf(other) : period < next ? -1 : 1;
  });
}

/** The column of a rollup that numbers its groups. With a report of the top, all groups outside it share one number. */
export function groupColumn(of: Top['of'], top: Top | undefined): RawBuilder<unknown> {
  const column = sql.ref(of);
  if (top?.of !== of) return column;
  if (top.groups.length === 0) return othersNumber;
  const kept = sql.join(top.groups.map((group) => group.number));
  return sql`case when ${column} in (${kept}) then ${column} else ${othersNumber} end`;
}
