import { Link } from 'wouter';
import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import { withQuery } from '../data/api.ts';
import { type Grouping, mostBefore, type Usage, type UsageFilter, usagePath, useUsage } from '../data/usage.ts';
import type { ChosenTime } from '../data/usage-range.ts';
import { formatCount, formatMoney, formatMonth, formatMs, formatShare, orUnknown, unknown } from '../format/format.ts';
import { Download } from '../parts/download.tsx';
import { Trend } from '../parts/trend.tsx';
import { Card } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { groupingOf, groupName } from './usage-charts.tsx';

const titles: Readonly<Record<Grouping, { readonly one: string; readonly many: string }>> = {
  model: { one: 'Model', many: 'Models' },
  key: { one: 'Key', many: 'Keys' },
  workspace: { one: 'Workspace', many: 'Workspaces' },
  tag: { one: 'Value', many: 'Values' },
};

const cost: Column<UsageLineObject> = {
  ...{ title: 'Cost', end: true, cell: (line) => formatMoney(line.cost), sortBy: (line) => Number(line.cost) },
};

const sums: readonly Column<UsageLineObject>[] = [
  figure('Requests', ({ requests }) => requests),
  figure('Errors', ({ errors }) => errors),
  figure('Prompt tokens', (line) => line.prompt_tokens),
  figure('of them cached', (line) => line.cached_tokens),
  figure('Output tokens', (line) => line.completion_tokens),
];

const times: readonly Column<UsageLineObject>[] = [
  figure('First token p50', (line) => line.first_token_p50_ms, formatMs),
  figure('p95', (line) => line.first_token_p95_ms, formatMs),
];

type Figure = (line: UsageLineObject) => number | null | undefined;

function figure(title: string, of: Figure, format: (value: number) => string = formatCount): Column<UsageLineObject> {
  return { title, end: true, cell: (line) => orUnknown(of(line), format), sortBy: (line) => of(line) ?? -1 };
}

interface MonthsOptions {
  readonly filter: UsageFilter;
  /** The filter of the groups. */
  readonly byGroup: UsageFilter;
  readonly by: Grouping;
  readonly time: ChosenTime;
}

/** The comparison of a month, group by group. Undefined: the time is no month, or something is still loading. */
export function useMonths({ filter, byGroup, by, time }: MonthsOptions) {
  const { to, month, before } = time;
  const isMonth = month !== undefined;
  const groups = useUsage({ ...byGroup, ...before, ...(!isMonth && { workspace: null }) }, [by], mostBefore);
  const [total, earlier] = [useUsage(filter), useUsage({ ...filter, ...before })];
  const sum = total.data?.lines[0];
  if (!isMonth || sum === undefined || groups.data === undefined || earlier.data === undefined) return undefined;
  return {
    ...{ name: formatMonth(month), total: sum, totalBefore: earlier.data.lines[0], before: groups.data },
    beforeTitle: to === undefined ? 'Same days before' : 'Month before',
  };
}

type Months = NonNullable<ReturnType<typeof useMonths>>;

/** What each line is of its month, and what it was in the one before. */
function comparisons(months: Months, by: Grouping): readonly Column<UsageLineObject>[] {
  const { total, totalBefore, before, beforeTitle } = months;
  const earlier = new Map(before.lines.map((line) => [line[by], Number(line.cost)]));
  // With a sum of all others, a group that is not found may be one of them.
  const otherwise = earlier.has(null) ? undefined : 0;
  const costBefore = (line: UsageLineObject): number | undefined => {
    if (line === total) return Number(totalBefore?.cost ?? 0);
    return line[by] === null ? undefined : (earlier.get(line[by]) ?? otherwise);
  };
  const shareOf = ({ cost }: UsageLineObject): number =>
    Number(total.cost) === 0 ? 0 : Number(cost) / Number(total.cost);
  return [
    figure('Share', shareOf, formatShare),
    figure(beforeTitle, costBefore, formatMoney),
    {
      ...{ title: 'Change', end: true },
      cell: (line) => <Trend now={Number(line.cost)} before={costBefore(line)} />,
      sortBy: (line) => Number(line.cost) - (costBefore(line) ?? 0),
    },
  ];
}

interface UsageGroupsProps {
  readonly usage: Usage;
  /** Of a month: the table is its statement. */
  readonly months?: Months | undefined;
}

/** The sums of each model, key, workspace or value of a tag, and the same lines as a file, which has all of them. */
export function UsageGroups({ usage, months }: UsageGroupsProps) {
  const { asked, lines } = usage;
  const by = groupingOf(usage);
  const { one, many } = titles[by];
  const columns: readonly Column<UsageLineObject>[] = [
    {
      ...{ title: one, names: true, sortBy: (line) => groupName(line, by).toLowerCase() },
      cell: (line) => <GroupLink of={line} by={by} />,
    },
    // In the statement of one workspace it is not repeated in each line.
    ...(by === 'key' && (months === undefined || asked.filter.workspace === undefined)
      ? [
          {
            title: 'Workspace',
            cell: (line: UsageLineObject) => line.key_workspace ?? unknown,
            sortBy: (line: UsageLineObject) => line.key_workspace ?? '',
          },
        ]
      : []),
    cost,
    ...(months === undefined ? [...sums, ...times] : [...comparisons(months, by), ...sums]),
  ];
  return (
    <Card
      title={months === undefined ? many : `${months.name} by ${one.toLowerCase()}`}
      aside={
        <Download
          label={`Download ${many.toLowerCase()} as CSV`}
          path={usagePath({ ...asked, top: undefined })}
          file={`usage-by-${by}-${asked.filter.from.slice(0, 10)}.csv`}
        />
      }
    >
      <Table
        label={`Usage by ${by}`}
        columns={columns}
        rows={lines}
        rowKey={(line) => line[by] ?? ''}
        footer={
          months !== undefined && (
            <>
              <th scope="row">Total</th>
              {columns.slice(1).map(({ title, end, cell }) => (
                <td key={title} className={end && 'end'}>
                  {title === 'Workspace' ? '' : cell(months.total)}
                </td>
              ))}
            </>
          )
        }
      />
    </Card>
  );
}

/** The name of a group. A workspace leads to its keys, a model and a key to their requests. */
function GroupLink({ of, by }: { readonly of: UsageLineObject; readonly by: Grouping }) {
  const id = of[by];
  const name = groupName(of, by);
  if (id === null || by === 'tag') return name;
  const path =
    by === 'workspace' ? withQuery('/usage', { workspace: id, by: 'key' }) : withQuery('/requests', { [by]: id });
  return <Link href={path}>{name}</Link>;
}
