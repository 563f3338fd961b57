import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import type { UsageLine } from '../../../src/portal/api/usage.ts';
import { type Grouping, mostGroups, periodOf, type UsageFilter, useGroupedUsage } from '../data/usage.ts';
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
import { Card } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';

const TimeChart = lazy(() => import('../parts/chart.tsx').then((module) => ({ default: module.TimeChart })));

interface ChartsProps {
  readonly filter: UsageFilter;
  readonly period: 'hour' | 'day';
  readonly periods: readonly string[];
  /** Sums by period. */
  readonly totals: readonly UsageLine[];
  readonly by: Grouping;
  /** Sums by group, those that cost most first. */
  readonly groups: readonly UsageLine[];
}

const measures = [
  { title: 'Cost', of: (line: UsageLine) => Number(line.cost), format: formatMoney, axis: formatMoney },
  { title: 'Requests', of: (line: UsageLine) => line.requests, format: formatCount, axis: formatCompact },
  {
    title: 'Tokens',
    of: (line: UsageLine) => line.prompt_tokens + line.completion_tokens,
    format: formatCount,
    axis: formatCompact,
  },
] as const;

/** Cost, requests and tokens stacked by group, and the time to the first token. Each chart has its table. */
export function UsageCharts({ filter, period, periods, totals, by, groups }: ChartsProps) {
  const shown = groups.slice(0, mostGroups);
  const ids = useMemo(() => shown.map((line) => (by === 'model' ? line.model : line.key) ?? ''), [shown, by]);
  const grouped = useGroupedUsage(filter, {
    ...{ period, group: by, names: ids, mostLinesOfAll: groups.length * periods.length },
  });
  const labels = useMemo(
    () => periods.map((start) => (period === 'hour' ? formatHour(start) : formatUtcDay(start.slice(0, 10)))),
    [periods, period],
  );
  const total = useMemo(() => new Map(totals.map((line) => [periodOf(line), line])), [totals]);
  const lines = useMemo(
    () => grouped.lines.map((some) => new Map(some.map((line) => [periodOf(line), line]))),
    [grouped.lines],
  );
  const series = useMemo(
    () => measures.map(({ of }) => stack({ of, periods, total, lines, groups, by })),
    [periods, total, lines, groups, by],
  );
  return (
    <div className="columns">
      {measures.map(({ title, format, axis }, index) => (
        <ChartCard key={title} title={title} labels={labels} series={series[index] ?? []} format={format}>
          {grouped.isPending ? (
            <div className="chart" />
          ) : (
            <TimeChart kind="stacked" labels={labels} series={series[index] ?? []} format={axis} />
          )}
        </ChartCard>
      ))}
      <FirstToken labels={labels} periods={periods} total={total} />
    </div>
  );
}

/** How a group is called in tables and charts. */
export function groupName(line: UsageLine, by: Grouping): string {
  return by === 'model' ? (line.model ?? unknown) : (line.key_name ?? line.key ?? unknown);
}

type ByPeriod = ReadonlyMap<string, UsageLine>;

interface Stacked extends Pick<ChartsProps, 'periods' | 'groups' | 'by'> {
  readonly of: (line: UsageLine) => number;
  readonly total: ByPeriod;
  /** By group, in the order of the groups. */
  readonly lines: readonly ByPeriod[];
}

/** One series for each group that is shown, and one for the others. */
function stack({ of, periods, total, lines, groups, by }: Stacked): readonly Series[] {
  const valueAt = (some: ByPeriod | undefined, start: string): number => {
    const line = some?.get(start);
    return line === undefined ? 0 : of(line);
  };
  const named = groups.slice(0, mostGroups).map((group, index) => ({
    name: groupName(group, by),
    values: periods.map((start) => valueAt(lines[index], start)),
  }));
  if (groups.length <= mostGroups) return named;
  const others = periods.map((start, at) => {
    const shown = named.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
    return Math.max(0, valueAt(total, start) - shown);
  });
  return [...named, { name: 'Others', values: others }];
}

interface FirstTokenProps {
  readonly labels: readonly string[];
  readonly periods: readonly string[];
  readonly total: ByPeriod;
}

function FirstToken({ labels, periods, total }: FirstTokenProps) {
  const series = useMemo(
    (): readonly Series[] => [
      { name: 'p50', values: periods.map((start) => total.get(start)?.first_token_p50_ms ?? null) },
      { name: 'p95', values: periods.map((start) => total.get(start)?.first_token_p95_ms ?? null) },
    ],
    [periods, total],
  );
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

/** A chart, and the same as a table. */
function ChartCard({ title, labels, series, format, children }: ChartCardProps) {
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
  return (
    <Card title={title}>
      <Suspense fallback={<div className="chart" />}>{children}</Suspense>
      <details style={{ marginTop: 12 }}>
        <summary>{title} as a table</summary>
        <Table label={`${title} over time`} columns={columns} rows={rows} rowKey={({ index }) => String(index)} />
      </details>
    </Card>
  );
}
