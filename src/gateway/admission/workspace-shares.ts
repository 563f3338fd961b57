import { addTo } from '../../core/sums.ts';
import { type LoadGuard, overloaded } from './overload.ts';

/** Share of the open requests that the service may have, above which a workspace with most of them gets no more. */
const crowdedShare = 0.8;

/** The open requests of each workspace. */
export type WorkspaceShares = ReturnType<typeof createWorkspaceShares>;

/**
 * Keeps room for others beside a workspace whose own limit is as high as the service's: with few files, or after the operator raised it.
 * `checkLoad` cannot tell workspaces apart, so such a workspace would take the places of all.
 */
export function createWorkspaceShares({ limits: { openRequests } }: Pick<LoadGuard, 'limits'>) {
  const crowded = openRequests.to * crowdedShare;
  const ofWorkspaces = new Map<string, number>();
  let open = 0;
  return {
    /** Begins a request of a known caller. Throws `overloaded`, or returns the function that ends the request. */
    enter: (workspaceId: string): (() => void) => {
      const own = ofWorkspaces.get(workspaceId) ?? 0;
      if (open >= crowded && own > open / 2) throw overloaded('open-requests');
      open += 1;
      addTo(ofWorkspaces, workspaceId, 1);
      return () => {
        open -= 1;
        addTo(ofWorkspaces, workspaceId, -1);
      };
    },
  };
}
