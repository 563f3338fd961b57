import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { PortalEvent } from '../../../src/portal/api/events.ts';
import type { WorkspaceObject } from '../../../src/portal/api/workspaces.ts';
import type { Page } from '../data/api.ts';
import { useEvents } from '../data/events.ts';
import { sessionKey } from '../data/session.ts';
import { storeOf, useStore } from '../data/store.ts';
import { useThrottled } from '../data/throttled.ts';

const missedMs = 10_000;

export type Health = Extract<PortalEvent, { readonly name: 'health' }>['data'];

const health = storeOf<Health | undefined>(undefined);

/** The current problems. Undefined before the first event that reports them. */
export const useHealth = (): Health | undefined => useStore(health);

/** Updates the cached data of the pages from the stream of events. */
export function useLiveData(): void {
  const client = useQueryClient();
  // Under load the stream reports only part of the requests.
  const refresh = useThrottled(
    missedMs,
    () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] }),
  );
  useEvents({
    balance: ({ workspace_id, balance }) =>
      client.setQueryData<Page<WorkspaceObject>>(['workspaces'], (page) =>
        page === undefined
          ? page
          : { ...page, data: page.data.map((one) => (one.id === workspace_id ? { ...one, balance } : one)) },
      ),
    health: health.set,
    missed: refresh,
    ended: () => void client.invalidateQueries({ queryKey: sessionKey }),
  });
  // The next session starts with its own events.
  useEffect(() => () => health.set(undefined), []);
}
