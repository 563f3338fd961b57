import { type QueryClient, useQuery } from '@tanstack/react-query';
import type { RequestDetailObject, RequestObject } from '../../../src/portal/api/requests.ts';
import { ApiError, call } from './api.ts';

const againMs = 400;
/** A row is written within a second. If it is not there after these, its figures stay unknown. */
const tries = 15;

type Key = readonly ['served', string];

/** A row that was read stays: the services forget by which id it was asked for. */
async function readServed(key: Key, client: QueryClient): Promise<RequestObject | null> {
  try {
    return (await call<RequestDetailObject>(`/requests/${key[1]}`)).request;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return client.getQueryData<RequestObject>(key) ?? null;
    throw error;
  }
}

/** What the service measured and billed of a request that has ended, by its `x-request-id`. Undefined: not known yet. */
export function useServed(requestId: string, hasEnded: boolean): RequestObject | undefined {
  const key: Key = ['served', requestId];
  const { data } = useQuery({
    queryKey: key,
    queryFn: ({ client }) => readServed(key, client),
    refetchInterval: ({ state }) => (state.data === null && state.dataUpdateCount < tries ? againMs : false),
    ...{ enabled: hasEnded, staleTime: Infinity },
  });
  return data ?? undefined;
}

/** Output tokens a second, from the first one to the last one. Undefined: too few to have a speed. */
export function speedOf({ first_token_ms: first, duration_ms: all, completion_tokens: tokens }: RequestObject) {
  return first === null || tokens < 2 || all <= first ? undefined : ((tokens - 1) / (all - first)) * 1_000;
}
