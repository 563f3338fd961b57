import type { OwnWorkspaceObject, SessionObject } from '../../../src/portal/api/session.ts';
import { useSession } from './session.ts';
import { useChosenWorkspace } from './workspaces.ts';

export type Right = OwnWorkspaceObject['may'][number];

/** Whether the caller has a right in the chosen workspace. Hides what would be refused: the server checks each request. */
export function useMay(): (right: Right) => boolean {
  const session = useSession();
  const chosen = useChosenWorkspace();
  return (right) =>
    session.role === 'admin' || session.workspaces.some(({ id, may }) => id === chosen?.id && may.includes(right));
}

/** Whether the caller has a right in any workspace. */
export function maySomewhere({ role, workspaces }: SessionObject, right: Right): boolean {
  return role === 'admin' || workspaces.some(({ may }) => may.includes(right));
}
