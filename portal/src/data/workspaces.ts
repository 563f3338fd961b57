import { useQuery } from '@tanstack/react-query';
import type { WorkspaceObject } from '../../../src/portal/api/workspaces.ts';
import type { Page } from './api.ts';
import { useRead } from './calls.ts';
import { useSession } from './session.ts';
import { useAddress } from './address.ts';

/** Largest page of a list of the portal. */
const mostPerPage = 500;

export interface WorkspaceChoice {
  readonly id: string;
  readonly name: string;
}

/** All workspaces with their balances, by name. */
export function useWorkspacesQuery(enabled = true) {
  return useRead<Page<WorkspaceObject>>(['workspaces'], `/workspaces?limit=${mostPerPage}`, { enabled });
}

/** One workspace with its balance. */
export function useWorkspaceQuery(id: string) {
  return useRead<WorkspaceObject>(['workspace', id], `/workspaces/${id}`);
}

/** The workspaces that the session may see. Undefined while they load. */
export function useWorkspaceChoices(): readonly WorkspaceChoice[] | undefined {
  const session = useSession();
  const all = useWorkspacesQuery(session.role === 'admin');
  return session.role === 'admin' ? all.data?.data : session.workspaces;
}

/**
 * The workspace that the address names, or the first of the list when the list first loaded. That workspace stays
 * selected while it exists: a new workspace that sorts before it must not become the payer of an open form. Undefined
 * while the list loads, and if there is no workspace.
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
 * The workspace that a list or a report asks for. Undefined: all workspaces for an admin, its own for an API key. A
 * member of several workspaces must name one. Null while it is not known yet.
 */
export function useAskedWorkspace(): string | undefined | null {
  const session = useSession();
  const chosen = useChosenWorkspace();
  const [{ workspace }] = useAddress();
  if (session.role === 'admin') return workspace;
  return session.role === 'key' ? undefined : (chosen?.name ?? null);
}
