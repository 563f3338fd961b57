import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { UsageLine, UsageReport } from '../../../src/portal/api/usage.ts';
import { call, withQuery } from './api.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** Of what a report is asked for: a time of whole UTC hours, and perhaps a workspace, a key and a model. */
export interface UsageFilter {
  readonly from: string;
  readonly to: string | undefined;
  /** Null: it is not known yet, and nothing is asked. */
  readonly workspace: string | undefined | null;
  readonly key: string | undefined;
  readonly model: string | undefined;
}

export type Grouping = 'model' | 'key';

export const ranges = ['24h', '7d', '30d', '90d'] as const;
export type Range = (typeof ranges)[number];

const days: Readonly<Record<Exclude<Range, '24h'>, number>> = { '7d': 7, '30d': 30, '90d': 90 };

/** Beginnings of the hours or days of a range, the last one under way. Days are those of UTC, as in the rollups. */
export function periodsOf(range: Range, now: number): readonly string[] {
  const [count, length] = range === '24h' ? [24, hourMs] : [days[range], dayMs];
  const last = Math.floor(now / length) * length;
  return Array.from({ length: count }, (_, index) => new Date(last - (count - 1 - index) * length).toISOString());
}

/** Beginning of a period of a line that was asked for by hour or by day, as `periodsOf` has it. */
export function periodOf({ hour, day }: UsageLine): string {
  return new Date(hour ?? `${day ?? ''}T00:00:00Z`).toISOString();
}

/** What the API gives in one page at most. */
const mostLines = 10_000;

export function usagePath(filter: UsageFilter, by: readonly string[]): string {
  return withQuery('/usage', {
    ...filter,
    workspace: filter.workspace ?? undefined,
    by: by.join(','),
    limit: mostLines,
  });
}

const read = (filter: UsageFilter, by: readonly string[]) => ({
  queryKey: ['usage', filter, by],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => call<UsageReport>(usagePath(filter, by), { signal }),
  placeholderData: keepPreviousData,
  enabled: filter.workspace !== null,
});

/** One report: sums by the dimensions. */
export function useUsage(filter: UsageFilter, by: readonly string[] = []) {
  return useQuery(read(filter, by));
}

/** How many groups a chart shows by name; the rest is one more. */
export const mostGroups = 7;

interface GroupedOptions {
  readonly period: 'hour' | 'day';
  readonly group: Grouping;
  /** Ids of the groups that are shown. */
  readonly names: readonly string[];
  /** How many lines a report over all groups would have at most. */
  readonly mostLinesOfAll: number;
}

/**
 * Sums by period for each of the groups that cost most. One report has them where all groups fit a page of it. Many keys over many
 * days do not, and nobody sees the hundredth colour of a chart: then each shown group has a report of its own.
 */
export function useGroupedUsage(filter: UsageFilter, { period, group, names, mostLinesOfAll }: GroupedOptions) {
  const isOneReport = mostLinesOfAll <= mostLines;
  return useQueries({
    queries: isOneReport
      ? [read(filter, [period, group])]
      : names.map((name) => read({ ...filter, [group]: name }, [period])),
    combine: (results) => ({
      isPending: results.some(({ isPending }) => isPending),
      lines: isOneReport
        ? names.map((name) => results[0]?.data?.data.filter((line) => line[group] === name) ?? [])
        : results.map(({ data }) => data?.data ?? []),
    }),
  });
}

const minuteMs = 60_000;

/** The time now, in steps of a minute, so that a report is not asked for anew by every rendering. */
export function useMinute(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), minuteMs);
    return () => clearInterval(timer);
  }, []);
  return Math.floor(now / minuteMs) * minuteMs;
}
