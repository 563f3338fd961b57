import type { Workspace } from '../core/account.ts';
import { shownDeclaration, shownWorkspace } from '../books/core/shown.ts';
import type { WorkspaceObject } from './api/workspaces.ts';
import type { PortalStore } from './store-port.ts';

/** Workspaces as the admin API answers with them, each with the object that declares it. */
export async function workspaceObjects(
  store: PortalStore,
  workspaces: readonly Workspace[],
): Promise<WorkspaceObject[]> {
  const declared = await store.declarationsOf(workspaces.map(({ id }) => id));
  return workspaces.map((workspace) => objectOf(workspace, declared));
}

export async function workspaceObject(store: PortalStore, workspace: Workspace): Promise<WorkspaceObject> {
  return objectOf(workspace, await store.declarationsOf([workspace.id]));
}

function objectOf(workspace: Workspace, declared: Awaited<ReturnType<PortalStore['declarationsOf']>>): WorkspaceObject {
  const declared_by = shownDeclaration(declared.get(workspace.id));
  return { ...shownWorkspace(workspace), declared_by };
}
