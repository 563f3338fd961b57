import { type ReactNode, useMemo } from 'react';
import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import { type Grouping, groupings, type Usage } from '../data/usage.ts';
import { type Period, periodOf, periodsOf } from '../data/usage-range.ts';
import {
  formatCompact,
  formatCount,
  formatHour,
  formatMoney,
  formatMs,
  formatShare,
  formatUtcDay,
  orUnknown,
} from '../format/format.ts';
import type { Series } from '../parts/chart.tsx';
import { Details } from '../parts/details.tsx';
import { Legend, othersColour } from '../parts/legend.tsx';
import { onDemand } from '../parts/on-demand.tsx';
import { Card } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';

export const TimeChart = onDemand(
  () => import('../parts/chart.tsx').then((module) => module.TimeChart),
  <div className="chart" />,
);
// The code of the charts loads while the reports load.
TimeChart.preload();

interface ChartsProps {
  /** Sums by hour or day. */
  readonly totals: Usage;
  /** Sums by hour or day and by model or key: the most expensive groups, and all others as one. */
  readonly grouped: Usage;
  readonly now: number;
}

const measures = [
  { title: 'Cost', of: (line: UsageLineObject) => Number(line.cost), format: formatMoney, axis: formatMoney },
  { title: 'Requests', of: (line: UsageLineObject) => line.requests, format: formatCount, axis: formatCompact },
  {
    title: 'Tokens',
    of: (line: UsageLineObject) => line.prompt_tokens + line.completion_tokens,
    format: formatCount,
    axis: formatCompact,
  },
] as const;

/** Cost, requests and tokens stacked by group, the failure rate, and the time to the first token. Each chart has its table. */
export function UsageCharts({ totals, grouped, now }: ChartsProps) {
  const { periods, labels } = useMemo(() => axisOf(grouped, now), [grouped, now]);
  const groups = useMemo(() => groupsOf(grouped), [grouped]);
  const series = useMemo(
    () =>
      measures.map(({ of }) =>
        groups.map(({ name, isOthers, lines }) => ({
          name,
          colour: isOthers ? othersColour : undefined,
          values: periods.map((start) => {
            const line = lines.get(start);
            return line === undefined ? 0 : of(line);
          }),
        })),
      ),
    [periods, groups],
  );
  return (
    <div className="columns">
      <Legend of={series[0] ?? []} />
      {measures.map(({ title, format, axis }, index) => (
        <ChartCard key={title} title={title} labels={labels} series={series[index] ?? []} format={format}>
          <TimeChart kind="stacked" labels={labels} series={series[index] ?? []} format={axis} />
        </ChartCard>
      ))}
      {lineCharts.map((of) => (
        <LinesCard key={of.title} of={of} totals={totals} now={now} />
      ))}
    </div>
  );
}

/** The hours or days of a report, and their labels. */
function axisOf({ asked }: Usage, now: number) {
  const period: Period = (['hour', 'week'] as const).find((one) => asked.by.includes(one)) ?? 'day';
  const periods = periodsOf(asked.filter, period, now);
  return {
    periods,
    labels: periods.map((start) => (period === 'hour' ? formatHour(start) : formatUtcDay(start.slice(0, 10)))),
  };
}

/** The name of a group in tables and charts. */
export function groupName(line: UsageLineObject, by: Grouping): string {
  if (by === 'key') return line.key_name ?? line.key ?? others;
  if (by === 'tag' && line.tag === '') return 'Without this tag';
  return line[by] ?? others;
}

/** What the lines of a report are grouped by. */
export function groupingOf({ asked }: Usage): Grouping {
  return groupings.find((one) => asked.by.includes(one)) ?? 'model';
}

/** The groups without a line of their own. */
const others = 'Others';

interface Group {
  readonly name: string;
  readonly isOthers: boolean;
  /** Lines by the beginning of their hour or day. */
  readonly lines: ReadonlyMap<string, UsageLineObject>;
}

/** The groups of a report, the most expensive first, the others last. */
function groupsOf(usage: Usage): readonly Group[] {
  const by = groupingOf(usage);
  const costOf = ({ isOthers, lines }: Group): number =>
    isOthers ? -1 : [...lines.values()].reduce((sum, { cost }) => sum + Number(cost), 0);
  return [...Map.groupBy(usage.lines, (line) => line[by])]
    .flatMap(([id, lines]): readonly Group[] => {
      const [first] = lines;
      if (first === undefined) return [];
      const byPeriod = new Map(lines.map((line) => [periodOf(line), line]));
      return [{ name: groupName(first, by), isOthers: id === null, lines: byPeriod }];
    })
    .toSorted((one, other) => costOf(other) - costOf(one));
}

export const p50 = { name: 'p50', colour: '--quantile-1' } as const;
export const p95 = { name: 'p95', colour: '--quantile-2' } as const;

/** Values that are measured, and not summed. An hour or day without one has none. */
const lineCharts = [
  {
    ...{ title: 'Failure rate', format: formatShare },
    lines: [{ name: 'Failed', colour: '--bad', of: (line: UsageLineObject) => line.errors / line.requests }],
  },
  {
    ...{ title: 'Time to first token', format: formatMs },
    lines: [
      { ...p50, of: (line: UsageLineObject) => line.first_token_p50_ms },
      { ...p95, of: (line: UsageLineObject) => line.first_token_p95_ms },
    ],
  },
];

interface LinesCardProps extends Pick<ChartsProps, 'totals' | 'now'> {
  readonly of: (typeof lineCharts)[number];
}

function LinesCard({ of: { title, format, lines }, totals, now }: LinesCardProps) {
  const { periods, labels } = useMemo(() => axisOf(totals, now), [totals, now]);
  const series = useMemo((): readonly Series[] => {
    const byPeriod = new Map(totals.lines.map((line) => [periodOf(line), line]));
    return lines.map(({ name, colour, of }) => ({
      ...{ name, colour },
      values: periods.map((start) => {
        const line = byPeriod.get(start);
        return line === undefined ? null : of(line);
      }),
    }));
  }, [lines, periods, totals]);
  return (
    <ChartCard title={title} labels={labels} series={series} format={format}>
      <TimeChart kind="lines" labels={labels} series={series} format={format} />
      {lines.length > 1 && <Legend of={series} />}
    </ChartCard>
  );
}

interface ChartCardProps {
  readonly title: string;
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly children: ReactNode;
}

/** A chart and its table. The table is rendered when it is opened: 90 days have thousands of cells. */
export function ChartCard({ title, labels, series, format, children }: ChartCardProps) {
  return (
    <Card title={title}>
      {children}
      <Details title={`${title} as a table`}>
        <SeriesTable label={`${title} over time`} labels={labels} series={series} format={format} />
      </Details>
    </Card>
  );
}

interface SeriesTableProps extends Pick<ChartCardProps, 'labels' | 'series' | 'format'> {
  readonly label: string;
}

function SeriesTable({ label: title, labels, series, format }: SeriesTableProps) {
  const rows = labels.map((label, index) => ({ label, index }));
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { title: 'Time', names: true, cell: ({ label }) => label },
    ...series.map(({ name, values }) => ({
      title: name,
      end: true as const,
      cell: ({ index }: { readonly index: number }) => orUnknown(values[index], format),
    })),
  ];
  return <Table label={title} columns={columns} rows={rows} rowKey={({ index }) => String(index)} />;
}
