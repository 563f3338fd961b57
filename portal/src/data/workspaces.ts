import { useQuery } from '@tanstack/react-query';
import type { Workspace } from '../../../src/portal/api/workspaces.ts';
import { call, type Page } from './api.ts';
import { useSession } from './session.ts';
import { useAddress } from './address.ts';

/** What the portal answers at most in one page. */
const mostPerPage = 500;

export interface WorkspaceChoice {
  readonly id: string;
  readonly name: string;
}

/** All workspaces with their balances, by name. */
export function useWorkspacesQuery(enabled = true) {
  return useQuery({
    queryKey: ['workspaces'],
    queryFn: () => call<Page<Workspace>>(`/workspaces?limit=${mostPerPage}`),
    enabled,
  });
}

/** The workspaces that somebody may choose from; undefined while they are being asked for. */
export function useWorkspaceChoices(): readonly WorkspaceChoice[] | undefined {
  const session = useSession();
  const all = useWorkspacesQuery(session.role === 'admin');
  return session.role === 'admin' ? all.data?.data : session.workspaces;
}

/**
 * The workspace that the address names, else the one that was the first when the list first came. That one stays chosen while it exists:
 * a new workspace that comes before it by name must not become the payer of a form that is open. Undefined while they are being asked
 * for, and where there is none.
 */
export function useChosenWorkspace(): WorkspaceChoice | undefined {
  const choices = useWorkspaceChoices();
  const [{ workspace }] = useAddress();
  const first = choices?.[0];
  const usual = useQuery({
    queryKey: ['usual-workspace'],
    queryFn: () => first?.id ?? null,
    enabled: first !== undefined,
    ...{ staleTime: Infinity, gcTime: Infinity },
  });
  const named = choices?.find(({ id, name }) => id === workspace || name === workspace);
  return named ?? choices?.find(({ id }) => id === usual.data) ?? first;
}

/**
 * The workspace that a list or a report is asked for: an admin may leave it out, which means all of them; a member of several names
 * one. Null while it is not known yet.
 */
export function useAskedWorkspace(): string | undefined | null {
  const session = useSession();
  const chosen = useChosenWorkspace();
  const [{ workspace }] = useAddress();
  if (session.role === 'admin') return workspace;
  return session.role === 'key' ? undefined : (chosen?.name ?? null);
}
