import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { LedgerFilter, UsageDimension, UsageLine } from '../core/administration.ts';
import { refusal } from '../core/operator-refusals.ts';
import { sourcesOf } from './ledger-filter.ts';
import type { Schema } from '../databases/schema.ts';

const rankable = ['model', 'key', 'workspace', 'tag'] as const;
const periods: ReadonlySet<UsageDimension> = new Set(['hour', 'day', 'week']);

/**
 * The dimension whose groups a report with `top` ranks: `model`, `key`, `workspace` or `tag`. Throws a `Refusal` unless
 * exactly one of them is there, alone or with `hour`, `day` or `week`.
 */
export function rankedDimension(dimensions: readonly UsageDimension[]): Top['of'] {
  const others = dimensions.filter((dimension) => !periods.has(dimension));
  const ranked = rankable.find((dimension) => dimension === others[0]);
  if (others.length === 1 && ranked !== undefined) return ranked;
  throw refusal('report_top_malformed');
}

/**
 * The groups that have lines of their own, with their names and their numbers in the rollups; a workspace has its id, a value of a tag itself.
 * The highest cost comes first.
 */
export interface Top {
  readonly of: (typeof rankable)[number];
  readonly groups: readonly { readonly number: number | bigint | string; readonly name: string }[];
}

/** For each dimension: its column of a rollup, what ranks that column's groups, and their names. */
const ranking = {
  model: { column: sql`model`, group: sql`model`, owner: sql``, names: sql`select number, name from ledger_models` },
  key: { column: sql`key`, group: sql`key`, owner: sql``, names: sql`select number, key_id as name from ledger_keys` },
  workspace: {
    column: sql`key`,
    group: sql`ledger_keys.workspace_id`,
    owner: sql`join ledger_keys on ledger_keys.number = parts.key`,
    names: sql`select id as number, name from workspaces`,
  },
  // Requests without the tag have the number 0, and are not ranked.
  tag: {
    column: sql`tag`,
    group: sql`ledger_tags.value`,
    owner: sql`join ledger_tags on ledger_tags.number = parts.tag`,
    names: sql`select distinct value as number, value as name from ledger_tags`,
  },
} as const satisfies Readonly<Record<Top['of'], Readonly<Record<string, RawBuilder<unknown>>>>>;

export async function topOf(
  queries: Kysely<Schema>,
  { filter, ranked, size }: { readonly filter: LedgerFilter; readonly ranked: Top['of']; readonly size: number },
): Promise<Top> {
  const { column, group, owner, names } = ranking[ranked];
  const sources = sourcesOf(filter, ranked === 'tag' ? [ranked] : []).filter(({ times }) => times === 1);
  const parts = sources.map(
    ({ table, from, to, tag, condition }) => sql`select ${ranked === 'tag' ? tag : column} as ${column}, cost, requests
      from ${sql.table(table)} where period >= ${from} and period < ${to} and ${condition}`,
  );
  // A sum of whole numbers could pass 64 bits. The rounding of this sum does not matter for ranks.
  const { rows } = await sql<Top['groups'][number]>`
    select names.number, names.name from (
      select ${group} as number, sum(cost * 1.0) as cost, sum(requests) as requests
      from (${sql.join(parts, sql` union all `)}) as parts ${owner} group by ${group}
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
  // Requests without the tag come after the values, and the sum of the others is last.
  const rankOf = ({ [of]: name }: UsageLine): number =>
    name === undefined ? groups.length + 1 : (ranks.get(name) ?? groups.length);
  const periodOf = ({ week, day, hour }: UsageLine): string => hour ?? day ?? week ?? '';
  return lines.toSorted((one, other) => {
    const [period, next] = [periodOf(one), periodOf(other)];
    return period === next ? rankOf(one) - rankOf(other) : period < next ? -1 : 1;
  });
}

/** The groups of a column of a rollup. With a report of the top, all groups outside it share one number. */
export function groupColumn(
  of: 'model' | 'key' | 'tag',
  top: Top | undefined,
  column: RawBuilder<unknown> = sql.ref(of),
): RawBuilder<unknown> {
  if (top === undefined || (top.of === 'workspace' ? 'key' : top.of) !== of) return column;
  if (top.of === 'tag') {
    const values = sql.join([...top.groups.map(({ number }) => number), '']);
    const ofTop = sql`select number from ledger_tags where value in (${values})`;
    return sql`case when ${column} = 0 or ${column} in (${ofTop}) then ${column} else ${othersNumber} end`;
  }
  if (top.groups.length === 0) return othersNumber;
  const groups = sql.join(top.groups.map((group) => group.number));
  // The keys of a workspace are added up later, so those of the top keep their numbers.
  const kept = top.of === 'workspace' ? sql`select number from ledger_keys where workspace_id in (${groups})` : groups;
  return sql`case when ${column} in (${kept}) then ${column} else ${othersNumber} end`;
}
