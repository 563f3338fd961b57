import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { PortalEvent } from '../../../src/portal/api/events.ts';
import type { Workspace } from '../../../src/portal/api/workspaces.ts';
import type { Page } from '../data/api.ts';
import { useEvents } from '../data/events.ts';
import { sessionKey } from '../data/session.ts';

type Health = Extract<PortalEvent, { readonly name: 'health' }>['data'];

const healthKey = ['health'];

/** Takes what the stream of events tells into what the pages show. */
export function useLiveData(): void {
  const client = useQueryClient();
  useEvents({
    balance: ({ workspace_id, balance }) =>
      client.setQueryData<Page<Workspace>>(['workspaces'], (page) =>
        page === undefined
          ? page
          : { ...page, data: page.data.map((one) => (one.id === workspace_id ? { ...one, balance } : one)) },
      ),
    health: (health) => client.setQueryData<Health>(healthKey, health),
    missed: () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] }),
    ended: () => void client.invalidateQueries({ queryKey: sessionKey }),
  });
}

/** What is wrong now; undefined until the stream has said so. */
export function useHealth(): Health | undefined {
  return useQuery<Health>({ queryKey: healthKey, enabled: false, staleTime: Infinity }).data;
}
