import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { UsageLineObject, UsageReportObject } from '../../../src/portal/api/usage.ts';
import { call, withQuery } from './api.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** The scope of a report: a range of whole UTC hours, and optionally a workspace, a key and a model. */
export interface UsageFilter {
  readonly from: string;
  readonly to: string | undefined;
  /** Null: not known yet; no report is read. */
  readonly workspace: string | undefined | null;
  readonly key: string | undefined;
  readonly model: string | undefined;
}

export type Grouping = 'model' | 'key';
export type Period = 'hour' | 'day';

export const ranges = ['24h', '7d', '30d', '90d'] as const;
export type Range = (typeof ranges)[number];

const days: Readonly<Record<Exclude<Range, '24h'>, number>> = { '7d': 7, '30d': 30, '90d': 90 };

/** The beginning of a range that ends now, at a full hour or day. Days are UTC days, as in the rollups. */
export function beginningOf(range: Range, now: number): string {
  const [count, length] = range === '24h' ? [24, hourMs] : [days[range], dayMs];
  return new Date((Math.floor(now / length) - count + 1) * length).toISOString();
}

/** The beginnings of the hours or days from a moment until now. The last one has not ended. */
export function periodsFrom(from: string, period: Period, now: number): readonly string[] {
  const length = period === 'hour' ? hourMs : dayMs;
  const first = new Date(from).getTime();
  const count = Math.floor(now / length) - Math.floor(first / length) + 1;
  return Array.from({ length: count }, (_, index) => new Date(first + index * length).toISOString());
}

/** The beginning of a line's hour or day, in the form of `periodsOf`. */
export function periodOf({ hour, day }: UsageLineObject): string {
  return new Date(hour ?? `${day ?? ''}T00:00:00Z`).toISOString();
}

/** The dimensions of a report. */
export interface UsageQuestion {
  readonly filter: UsageFilter;
  readonly by: readonly (Period | Grouping)[];
  /** How many models or keys have lines of their own; the others are one sum. Undefined: all. */
  readonly top: number | undefined;
}

/** A report with its scope. While a newer one loads, the page shows this scope and not the selected one. */
export interface Usage {
  readonly asked: UsageQuestion;
  readonly lines: readonly UsageLineObject[];
}

/** Most lines of a page of the API that a report with a top can have: 90 days of seven groups and the others. */
const mostLines = 1_000;

/** Named groups of a chart and its table: more colours look alike. The download has all groups. */
export const mostInChart = 7;
export const mostInTable = 100;

export function usagePath({ filter, by, top }: UsageQuestion): string {
  return withQuery('/usage', {
    ...filter,
    workspace: filter.workspace ?? undefined,
    by: by.join(','),
    top,
    limit: mostLines,
  });
}

/** One report: sums by the dimensions. */
export function useUsage(filter: UsageFilter, by: UsageQuestion['by'] = [], top?: number) {
  const client = useQueryClient();
  const asked: UsageQuestion = { filter, by, top };
  const options = queryOptions({
    queryKey: ['usage', asked],
    queryFn: async ({ signal }): Promise<Usage> => {
      const { data } = await call<UsageReportObject>(usagePath(asked), { signal });
      return { asked, lines: data };
    },
  });
  const enabled = filter.workspace !== null;
  // Starts to load during the first rendering, not after it.
  if (enabled && client.getQueryState(options.queryKey) === undefined) void client.prefetchQuery(options);
  return useQuery({ ...options, placeholderData: keepPreviousData, enabled });
}

const minuteMs = 60_000;

/** The current time in steps of a minute, so that not every rendering reads the report again. */
export function useMinute(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), minuteMs);
    return () => clearInterval(timer);
  }, []);
  return Math.floor(now / minuteMs) * minuteMs;
}
