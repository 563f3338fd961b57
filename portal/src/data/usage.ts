import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { UsageLineObject, UsageReportObject } from '../../../src/portal/api/usage.ts';
import type { TagNamesObject } from '../../../src/portal/api/tags.ts';
import { call, withQuery } from './api.ts';
import { useRead } from './calls.ts';
import type { Period } from './usage-range.ts';

/** The scope of a report: a range of whole UTC hours, and optionally a workspace, a key and a model. */
export interface UsageFilter {
  readonly from: string;
  readonly to?: string | undefined;
  /** Null: not known yet, so no report is read. */
  readonly workspace: string | undefined | null;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  /** The name of the tag by whose values a report groups. */
  readonly tag?: string | undefined;
}

export const groupings = ['model', 'key', 'workspace', 'tag'] as const;
export type Grouping = (typeof groupings)[number];

/** The dimensions of a report. */
export interface UsageQuestion {
  readonly filter: UsageFilter;
  readonly by: readonly (Period | Grouping)[];
  /** How many models, keys or workspaces have lines of their own; the others are one sum. Undefined: all. */
  readonly top: number | undefined;
}

/** A report with its scope. While a newer report loads, the page shows this scope and not the selected one. */
export interface Usage {
  readonly asked: UsageQuestion;
  readonly lines: readonly UsageLineObject[];
}

/** Most lines of a page of the API. A report with `top` has fewer: 120 days with eight groups and the sum of the others. */
const mostLines = 10_000;

/** Most groups with a name in a chart and its table, because more colours look alike. The download has all groups. */
export const mostInChart = 8;
export const mostInTable = 100;
/** Of the month before, so that those of this month are among them. */
export const mostBefore = 500;

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

/** The names of the tags of a workspace, or of all. Null: the workspace is not known yet. */
export function useTagNames(workspace: string | undefined | null, isEnabled: boolean) {
  const path = withQuery('/tags', { workspace: workspace ?? undefined });
  const enabled = isEnabled && workspace !== null;
  return useRead<TagNamesObject>(['tags', workspace], path, { enabled }).data?.data ?? [];
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
