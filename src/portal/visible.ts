import type { Workspace } from '../core/account.ts';
import type { KeyRecord } from '../core/administration.ts';
import { type Caller, maySee } from './callers.ts';
import { PortalError } from './portal-error.ts';
import type { PortalStore } from './store-port.ts';

// A member or a key gets the same 404 for objects of others as for an unknown id.

export async function visibleWorkspace(store: PortalStore, caller: Caller, nameOrId: string): Promise<Workspace> {
  const found = await orNone(store.findWorkspace(nameOrId));
  if (found === undefined || !maySee(caller, found.id)) {
    throw new PortalError(404, `There is no workspace "${nameOrId}".`, { field: 'workspace' });
  }
  return found;
}

export async function visibleKey(store: PortalStore, caller: Caller, id: string): Promise<KeyRecord> {
  const found = await orNone(store.findKey(id));
  const isOwn = caller.role !== 'key' || caller.keyId === id;
  // The key of a playground belongs to the portal. A person has no use for it, and changing it would break the playground.
  const isInternal = found?.isOfPlayground === true && caller.role !== 'admin';
  if (found === undefined || !isOwn || isInternal || !maySee(caller, found.workspaceId)) {
    throw new PortalError(404, `There is no key with the id "${id}".`, { field: 'key' });
  }
  return found;
}

async function orNone<Found>(looking: Promise<Found>): Promise<Found | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (error instanceof Error && 'kind' in error && error.kind === 'not-found') return undefined;
    throw error;
  }
}

/**
 * The workspace of a list: the named one, if the caller may see it. Without a name, an admin gets all workspaces
 * (undefined). A member gets the workspace that the member has; a member of several workspaces must name one.
 */
export async function workspaceAsked(
  store: PortalStore,
  caller: Caller,
  nameOrId: string | undefined,
): Promise<string | undefined> {
  if (nameOrId !== undefined) return (await visibleWorkspace(store, caller, nameOrId)).id;
  if (caller.role === 'admin') return undefined;
  const [only, other] = caller.workspaces;
  if (only !== undefined && other === undefined) return only;
  throw new PortalError(400, 'workspace: expected one of your workspaces.', { field: 'workspace' });
}
