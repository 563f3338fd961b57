import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { PortalEvent } from '../../../src/portal/api/events.ts';
import type { Workspace } from '../../../src/portal/api/workspaces.ts';
import type { Page } from '../data/api.ts';
import { useEvents } from '../data/events.ts';
import { sessionKey } from '../data/session.ts';
import { useThrottled } from '../data/throttled.ts';

const missedMs = 10_000;

type Health = Extract<PortalEvent, { readonly name: 'health' }>['data'];

let health: Health | undefined;
const listeners = new Set<() => void>();

function setHealth(told: Health | undefined): void {
  health = told;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What is wrong now; undefined until the stream has said so. */
export function useHealth(): Health | undefined {
  return useSyncExternalStore(subscribe, () => health);
}

/** Takes what the stream of events tells into what the pages show. */
export function useLiveData(): void {
  const client = useQueryClient();
  // Under load more happens in each second than is told.
  const refresh = useThrottled(
    missedMs,
    () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] }),
  );
  useEvents({
    balance: ({ workspace_id, balance }) =>
      client.setQueryData<Page<Workspace>>(['workspaces'], (page) =>
        page === undefined
          ? page
          : { ...page, data: page.data.map((one) => (one.id === workspace_id ? { ...one, balance } : one)) },
      ),
    health: setHealth,
    missed: refresh,
    ended: () => void client.invalidateQueries({ queryKey: sessionKey }),
  });
  // Whoever signs in next is told anew.
  useEffect(() => () => setHealth(undefined), []);
}
