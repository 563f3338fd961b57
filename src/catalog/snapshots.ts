import type { Cluster, Snapshot } from '../core/catalog.ts';

/** A request's hold on the snapshot it was planned with. */
export interface SnapshotHold {
  readonly snapshot: Snapshot;
  /** Lets go. Call once. */
  readonly release: () => void;
}

export interface Snapshots {
  readonly current: () => Snapshot;
  readonly hold: () => SnapshotHold;
  /** Makes `next` the current one. Requests under way keep theirs. */
  readonly swap: (next: Snapshot) => void;
  /** Clusters of the current snapshot and of every one still in use, without repeats. */
  readonly clustersInUse: () => readonly Cluster[];
}

/** Clusters of several snapshots, each once: a cluster's name is a digest of its content. */
export function unionOfClusters(lists: readonly (readonly Cluster[])[]): readonly Cluster[] {
  return [...new Map(lists.flat().map((cluster) => [cluster.name, cluster])).values()];
}

/**
 * Holds the current snapshot and counts who still uses an older one, so that no cluster is taken from Envoy while a
 * request may still call it. `onRetired` runs when the last user of an older snapshot has let go.
 */
export function createSnapshots(first: Snapshot, onRetired: () => void): Snapshots {
  let current = first;
  const users = new Map<Snapshot, number>();
  return {
    current: () => current,
    hold: () => {
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
    swap: (next) => {
      current = next;
    },
    clustersInUse: () => unionOfClusters([current.clusters, ...[...users.keys()].map((snapshot) => snapshot.clusters)]),
  };
}
