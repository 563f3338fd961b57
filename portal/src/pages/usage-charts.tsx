import { type ReactNode, useMemo, useState } from 'react';
import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import { type Grouping, type Period, periodOf, periodsFrom, type Usage } from '../data/usage.ts';
import {
  formatCompact,
  formatCount,
  formatHour,
  formatMoney,
  formatMs,
  formatUtcDay,
  unknown,
} from '../format/format.ts';
import type { Series } from '../parts/chart.tsx';
import { onDemand } from '../parts/on-demand.tsx';
import { Card } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';

const TimeChart = onDemand(
  () => import('../parts/chart.tsx').then((module) => module.TimeChart),
  <div className="chart" />,
);
// The code of the charts loads while the reports load.
TimeChart.preload();

interface ChartsProps {
  /** Sums by hour or day. */
  readonly totals: Usage;
  /** The same by model or key: the most expensive ones, and the others as one. */
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

/** Cost, requests and tokens stacked by group, and the time to the first token. Each chart has its table. */
export function UsageCharts({ totals, grouped, now }: ChartsProps) {
  const { periods, labels } = useMemo(() => axisOf(grouped, now), [grouped, now]);
  const groups = useMemo(() => groupsOf(grouped), [grouped]);
  const series = useMemo(
    () =>
      measures.map(({ of }) =>
        groups.map(({ name, lines }) => ({
          name,
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
      {measures.map(({ title, format, axis }, index) => (
        <ChartCard key={title} title={title} labels={labels} series={series[index] ?? []} format={format}>
          <TimeChart kind="stacked" labels={labels} series={series[index] ?? []} format={axis} />
        </ChartCard>
      ))}
      <FirstToken totals={totals} now={now} />
    </div>
  );
}

/** The hours or days of a report, and their labels. */
function axisOf(
  { asked }: Usage,
  now: number,
): { readonly periods: readonly string[]; readonly labels: readonly string[] } {
  const period: Period = asked.by.includes('hour') ? 'hour' : 'day';
  const periods = periodsFrom(asked.filter.from, period, now);
  return {
    periods,
    labels: periods.map((start) => (period === 'hour' ? formatHour(start) : formatUtcDay(start.slice(0, 10)))),
  };
}

/** The name of a group in tables and charts. */
export function groupName(line: UsageLineObject, by: Grouping): string {
  if (by === 'model') return line.model ?? others;
  return line.key_name ?? line.key ?? others;
}

/** The groups without a line of their own. */
const others = 'Others';

interface Group {
  readonly name: string;
  /** By the beginning of their hour or day. */
  readonly lines: ReadonlyMap<string, UsageLineObject>;
}

/** The groups of a report, the most expensive first, the others last. */
function groupsOf({ asked, lines }: Usage): readonly Group[] {
  const by: Grouping = asked.by.includes('key') ? 'key' : 'model';
  const byId = Map.groupBy(lines, (line) => line[by]);
  const costOf = (id: string | null): number =>
    id === null ? -1 : (byId.get(id) ?? []).reduce((sum, { cost }) => sum + Number(cost), 0);
  return [...byId.entries()]
    .map(([id, some]) => ({ cost: costOf(id), some }))
    .toSorted((one, other) => other.cost - one.cost)
    .flatMap(({ some }) => {
      const [first] = some;
      if (first === undefined) return [];
      return [{ name: groupName(first, by), lines: new Map(some.map((line) => [periodOf(line), line])) }];
    });
}

function FirstToken({ totals, now }: Pick<ChartsProps, 'totals' | 'now'>) {
  const { periods, labels } = useMemo(() => axisOf(totals, now), [totals, now]);
  const series = useMemo((): readonly Series[] => {
    const lines = new Map(totals.lines.map((line) => [periodOf(line), line]));
    return [
      { name: 'p50', values: periods.map((start) => lines.get(start)?.first_token_p50_ms ?? null) },
      { name: 'p95', values: periods.map((start) => lines.get(start)?.first_token_p95_ms ?? null) },
    ];
  }, [periods, totals]);
  return (
    <ChartCard title="Time to first token" labels={labels} series={series} format={formatMs}>
      <TimeChart kind="lines" labels={labels} series={series} format={formatMs} />
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
function ChartCard({ title, labels, series, format, children }: ChartCardProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Card title={title}>
      {children}
      <details style={{ marginTop: 12 }} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
        <summary>{title} as a table</summary>
        {isOpen && <SeriesTable label={`${title} over time`} labels={labels} series={series} format={format} />}
      </details>
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
      cell: ({ index }: { readonly index: number }) => {
        const value = values[index] ?? null;
        return value === null ? unknown : format(value);
      },
    })),
  ];
  return <Table label={title} columns={columns} rows={rows} rowKey={({ index }) => String(index)} />;
}
