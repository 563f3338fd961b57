import { describe, expect, it } from 'vitest';
import { modelOf, routeOf, snapshotOf } from '../../../test/support/route-of.ts';
import { createSnapshots, unionOfClusters } from './snapshots.ts';

const snapshot = (version: string, ...backends: readonly string[]) =>
  snapshotOf([modelOf(backends.map((name) => routeOf(name)))], version);

function begin() {
  let retired = 0;
  const snapshots = createSnapshots(snapshot('one', 'a', 'b'), () => (retired += 1));
  const names = (): readonly string[] =>
    snapshots
      .clustersInUse()
      .map(({ name }) => name)
      .toSorted();
  return { snapshots, names, retired: () => retired };
}

describe('snapshots', () => {
  it('keep the clusters of a snapshot while a request uses it, and say when its last user has let go', () => {
    const { snapshots, names, retired } = begin();
    const first = snapshots.hold();
    const second = snapshots.hold();
    snapshots.swap(snapshot('two', 'b', 'c'));
    expect(first.snapshot.version).toBe('one');
    expect(names()).toEqual(['cluster-a', 'cluster-b', 'cluster-c']);
    first.release();
    expect({ names: names(), retired: retired() }).toEqual({
      names: ['cluster-a', 'cluster-b', 'cluster-c'],
      retired: 0,
    });
    second.release();
    expect({ names: names(), retired: retired() }).toEqual({ names: ['cluster-b', 'cluster-c'], retired: 1 });
  });

  it('give new requests the new one', () => {
    const { snapshots } = begin();
    snapshots.swap(snapshot('two'));
    expect([snapshots.current().version, snapshots.hold().snapshot.version]).toEqual(['two', 'two']);
  });

  it('say nothing when the last user of the current one lets go', () => {
    const { snapshots, retired } = begin();
    snapshots.hold().release();
    expect(retired()).toBe(0);
    // A swap afterwards waits for no request.
    snapshots.swap(snapshot('two', 'c'));
    expect(snapshots.clustersInUse().map(({ name }) => name)).toEqual(['cluster-c']);
  });

  it('know users of several old ones', () => {
    const { snapshots, names, retired } = begin();
    const first = snapshots.hold();
    snapshots.swap(snapshot('two', 'c'));
    const second = snapshots.hold();
    snapshots.swap(snapshot('three', 'd'));
    expect(names()).toEqual(['cluster-a', 'cluster-b', 'cluster-c', 'cluster-d']);
    second.release();
    first.release();
    expect({ names: names(), retired: retired() }).toEqual({ names: ['cluster-d'], retired: 2 });
  });

  it('name each cluster once', () => {
    const { clusters } = snapshot('one', 'a', 'b');
    expect(unionOfClusters([clusters, clusters, []])).toEqual(clusters);
  });
});
