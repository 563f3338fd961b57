import type { Cluster, Snapshot } from '../../core/catalog.ts';

/** A request's hold on the snapshot it was planned with. */
interface SnapshotHold {
  readonly snapshot: Snapshot;
  /** Ends the hold. Call once. */
  readonly release: () => void;
}

export type Snapshots = ReturnType<typeof createSnapshots>;

/**
 * The clusters of several lists, each once. Two clusters of the same name differ only in their endpoints, and the
 * endpoints of the later list are newer.
 */
export function unionOfClusters(lists: readonly (readonly Cluster[])[]): readonly Cluster[] {
  return [...new Map(lists.flat().map((cluster) => [cluster.name, cluster])).values()];
}

/**
 * Keeps the current snapshot, and counts the requests that still use an older one, so that no cluster is removed from
 * Envoy while a request may still call it. `onRetired` runs when the last request on an older snapshot has ended.
 */
export function createSnapshots(first: Snapshot, onRetired: () => void) {
  let current = first;
  const users = new Map<Snapshot, number>();
  return {
    current: (): Snapshot => current,
    hold: (): SnapshotHold => {
      const snapshot = current;
      users.set(snapshot, (users.get(snapshot) ?? 0) + 1);
      return {
        snapshot,
        release: () => {
          const left = (users.get(snapshot) ?? 1) - 1;
          if (left > 0) users.set(snapshot, left);
          else {
            users.delete(snapshot);
            if (snapshot !== current) onRetired();
          }
        },
      };
    },
    /** Makes `next` the current snapshot. Requests under way keep their own snapshot. */
    swap: (next: Snapshot): void => {
      current = next;
    },
    /** The clusters of the current snapshot and of all snapshots still in use, each once. */
    clustersInUse: (): readonly Cluster[] =>
      unionOfClusters([...[...users.keys()].map((snapshot) => snapshot.clusters), current.clusters]),
  };
}
