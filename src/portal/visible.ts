import type { Workspace } from '../core/account.ts';
import { allowsModel } from '../core/model-patterns.ts';
import type { KeyRecord } from '../books/core/administration.ts';
import { allowsIn, refusalText, seenBy, sees } from '../books/core/rights.ts';
import { type Caller, type CallerIdentity, subjectOf } from './callers.ts';
import { Refusal, refusal } from '../books/core/operator-refusals.ts';
import type { PortalStore } from './store-port.ts';

// A caller gets the same 404 for objects of other workspaces as for an unknown id. In a workspace of the caller, a
// missing right is 403.

/** The workspace that a request is about. The caller has the request's rights there. */
export async function visibleWorkspace(store: PortalStore, caller: Caller, nameOrId: string): Promise<Workspace> {
  const found = await orNone(store.findWorkspace(nameOrId));
  if (found === undefined || !sees(caller.grant, found.id)) {
    throw refusal('workspace_not_found', { workspace: `"${nameOrId}"` }, { field: 'workspace' });
  }
  checkRights(caller, found);
  return found;
}

/** The key that a request is about. The caller has the request's rights in its workspace. */
export async function visibleKey(store: PortalStore, caller: Caller, id: string): Promise<KeyRecord> {
  const found = await orNone(store.findKey(id));
  const isOwn = caller.role !== 'key' || caller.keyId === id;
  // The key of a playground belongs to the portal. A person has no use for it, and changing it would break the playground.
  const isInternal = found?.isOfPlayground === true && caller.role !== 'admin';
  if (found === undefined || !isOwn || isInternal || !sees(caller.grant, found.workspaceId)) {
    throw refusal('key_not_found', { id }, { field: 'key' });
  }
  checkRights(caller, { id: found.workspaceId, name: found.workspaceName });
  return found;
}

/** Whether a caller sees a model, by its id: a key sees those that it may call, everyone else all. */
export async function modelsSeen(store: PortalStore, { keyId }: CallerIdentity): Promise<(id: string) => boolean> {
  if (keyId === undefined) return () => true;
  const { models } = await store.findKey(keyId);
  return (id) => allowsModel(models, id);
}

/** Whether a request exists for a caller, by its workspace and key: a key sees its own. Nobody's are for admins. */
export function seesRequest(
  { grant, keyId }: CallerIdentity,
  { workspace, key }: { readonly workspace: string | null; readonly key: string | null },
): boolean {
  if (keyId !== undefined) return key === keyId;
  return workspace === null ? grant.kind === 'admin' : sees(grant, workspace);
}

/** The key that a request changes: one that the caller made, or any key where the caller may change those of others. */
export async function changeableKey(store: PortalStore, caller: Caller, id: string): Promise<KeyRecord> {
  const found = await visibleKey(store, caller, id);
  if (!mayChange(caller, found)) {
    const where = { id: found.workspaceId, name: found.workspaceName };
    throw refusal('key_of_another', { why: refusalText(caller.grant, 'keys:change', where) });
  }
  return found;
}

export function mayChange(
  caller: CallerIdentity,
  { workspaceId, maker }: Pick<KeyRecord, 'workspaceId' | 'maker'>,
): boolean {
  if (allowsIn(caller.grant, 'keys:change', workspaceId)) return true;
  return maker !== undefined && maker === subjectOf(caller) && allowsIn(caller.grant, 'own-keys:change', workspaceId);
}

function checkRights({ grant, rights }: Caller, where: { readonly id: string; readonly name: string }): void {
  const missing = rights.find((right) => !allowsIn(grant, right, where.id));
  if (missing !== undefined) throw refusal('right_missing', { why: refusalText(grant, missing, where) });
}

const orNone = <Found>(looking: Promise<Found>): Promise<Found | undefined> =>
  looking.catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  });

/**
 * The workspace of a list: the named one, if the caller may see it. Without a name, a caller of all workspaces gets all
 * (undefined). A member gets the workspace that the member has; a member of several workspaces must name one.
 */
export async function workspaceAsked(
  store: PortalStore,
  caller: Caller,
  nameOrId: string | undefined,
): Promise<string | undefined> {
  if (nameOrId !== undefined) return (await visibleWorkspace(store, caller, nameOrId)).id;
  const all = seenBy(caller.grant);
  if (all === undefined) return undefined;
  const [only, other] = all.filter((id) => caller.rights.every((right) => allowsIn(caller.grant, right, id)));
  if (only !== undefined && other === undefined) return only;
  throw refusal('workspace_needed');
}
