import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Call, call, type Page, withQuery } from './api.ts';

interface ReadOptions {
  readonly enabled?: boolean;
  readonly refetchInterval?: number | false;
  /** While another path loads, the answer of this one stays. */
  readonly placeholderData?: typeof keepPreviousData;
}

/** The answer of a path of the admin API. It is in the cache under the key. */
export function useRead<Answer>(queryKey: readonly unknown[], path: string, options: ReadOptions = {}) {
  return useQuery({ queryKey, queryFn: ({ signal }) => call<Answer>(path, { signal }), ...options });
}

interface ListOptions extends Pick<ReadOptions, 'enabled'> {
  readonly query?: Parameters<typeof withQuery>[1];
}

/** A list that is loaded page by page: the rows so far, and how to load more. */
export function useList<Item>(
  queryKey: readonly unknown[],
  path: string,
  { query = {}, ...options }: ListOptions = {},
) {
  return useInfiniteQuery({
    queryKey: [...queryKey, query],
    queryFn: ({ pageParam, signal }) => call<Page<Item>>(withQuery(path, { ...query, cursor: pageParam }), { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap(({ data }) => data),
    placeholderData: keepPreviousData,
    ...options,
  });
}

/** Sends changes, and then reads again what is in the cache under the name. A change of nothing is not sent. */
export function useSend(name: string) {
  const client = useQueryClient();
  return async (method: NonNullable<Call['method']>, path: string, body?: object): Promise<void> => {
    if (body !== undefined && Object.keys(body).length === 0) return;
    await call(path, { method, body });
    await client.invalidateQueries({ queryKey: [name] });
  };
}
