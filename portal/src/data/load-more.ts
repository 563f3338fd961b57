import { useInfiniteQuery } from '@tanstack/react-query';
import { call, type Page, withQuery } from './api.ts';

type Query = Readonly<Record<string, string | number | undefined>>;

interface ListOptions {
  /** Key of the list in the cache. */
  readonly queryKey: readonly unknown[];
  readonly path: string;
  readonly query?: Query;
  readonly enabled?: boolean;
}

/** A list that is loaded page by page: the rows so far, and how to load more. */
export function useList<Item>({ queryKey, path, query = {}, enabled = true }: ListOptions) {
  return useInfiniteQuery({
    queryKey: [...queryKey, query],
    queryFn: ({ pageParam, signal }) => call<Page<Item>>(withQuery(path, { ...query, cursor: pageParam }), { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ data }) => data),
    placeholderData: (before) => before,
    enabled,
  });
}
