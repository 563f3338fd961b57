import { type Cluster } from '../../../src/core/catalog.ts';
import type { ClusterPublisher } from '../../../src/control/envoy/runtime/cluster-publisher.ts';
import { ClustersRejected } from '../../../src/control/envoy/runtime/cluster-publisher.ts';
import type { EndpointDiscovery } from '../../../src/control/envoy/runtime/endpoint-discovery.ts';
import type { Chance } from '../../programmable-engine/chance.ts';
import type { Program } from '../program.ts';

/** The Envoy of one service, as far as the service gives it clusters and endpoints. It outlives the service's program. */
export interface SimulatedEnvoy {
  /** What a program of the service has of it. */
  readonly openFor: (program: Program) => Pick<ClusterPublisher, 'publish' | 'refused'> & {
    readonly discovery: Pick<EndpointDiscovery, 'set' | 'drop'>;
  };
  readonly set: (trouble: 'none' | 'late' | 'away') => void;
  readonly isAway: () => boolean;
  /** Whether it was away, and has not taken the newest clusters since. */
  readonly isBehind: () => boolean;
  readonly has: (cluster: string) => boolean;
  /** Names of the endpoints that it has of a cluster. */
  readonly endpointsOf: (cluster: string) => ReadonlySet<string>;
}

/** So long, a service waits for an Envoy that does not answer. */
const confirmMs = 30_000;
const lateMs = 12_000;
const reason = 'no such path';

export const isRefused = ({ healthCheck }: Cluster): boolean => healthCheck?.path === '/refused';

/** `changed`: Envoy has other clusters or endpoints. */
export function createEnvoy(chance: Chance, changed: () => void): SimulatedEnvoy {
  const active = new Set<string>();
  const endpoints = new Map<string, ReadonlySet<string>>();
  let trouble: 'none' | 'late' | 'away' = 'none';
  let onBack: (() => void)[] = [];
  /** Counts the sets of clusters: a set that is not the newest one adds nothing any more. */
  let sets = 0;
  let isBehind = false;

  const delay = (): number => (trouble === 'late' ? 100 + chance() * lateMs : 2 + chance() * 30);

  function openFor(program: Program): ReturnType<SimulatedEnvoy['openFor']> {
    let refused: ReadonlyMap<string, string> = new Map();
    const known = new Map<string, ReadonlySet<string>>();
    let last: Promise<unknown> = Promise.resolve();

    /** Takes a set of clusters, each at its own time, and none of those that it refuses. */
    async function take(clusters: readonly Cluster[], number: number): Promise<void> {
      const wanted = clusters.filter((cluster) => !isRefused(cluster));
      const names = new Set(wanted.map(({ name }) => name));
      for (const name of active) if (!names.has(name)) active.delete(name);
      changed();
      const added = wanted.filter(({ name }) => !active.has(name));
      await Promise.all(added.map(({ name }) => after(delay(), () => begin(name, number))));
      if (number === sets) isBehind = false;
    }

    function begin(name: string, number: number): void {
      if (number !== sets) return;
      active.add(name);
      endpoints.set(name, known.get(name) ?? new Set());
      changed();
    }

    const after = (ms: number, run: () => void): Promise<void> =>
      new Promise((resolve) => {
        program.deliver(ms, () => {
          run();
          resolve();
        });
      });

    async function publish(clusters: readonly Cluster[]): Promise<void> {
      sets += 1;
      const number = sets;
      if (trouble === 'away' && !(await isBackInTime())) {
        // The file is written: Envoy reads it when it is back.
        isBehind = true;
        onBack.push(() => void (number === sets && take(clusters, number)));
        const error = new Error('Envoy did not confirm the clusters in time');
        error.name = 'EnvoyAway';
        throw error;
      }
      await take(clusters, number);
      refused = new Map(clusters.filter(isRefused).map(({ name }) => [name, reason]));
      if (refused.size > 0) throw new ClustersRejected([...refused.keys()], reason);
    }

    const isBack = (): Promise<void> => new Promise((resolve) => onBack.push(() => void program.deliver(1, resolve)));

    function isBackInTime(): Promise<boolean> {
      return new Promise((resolve) => {
        const cancel = program.deliver(confirmMs, () => resolve(false));
        onBack.push(() => {
          cancel();
          program.deliver(1, () => resolve(true));
        });
      });
    }

    return {
      publish: (clusters) => {
        const done = last.then(() => publish(clusters));
        last = done.catch(() => undefined);
        return done;
      },
      refused: () => refused,
      discovery: {
        // An Envoy that does not have the cluster asks for its endpoints when it gets it.
        set: async (cluster, found) => {
          known.set(cluster, new Set(found.map(({ name }) => name)));
          if (!active.has(cluster)) return;
          if (trouble === 'away') await isBack();
          await after(delay(), () => {
            if (active.has(cluster)) endpoints.set(cluster, known.get(cluster) ?? new Set());
            changed();
          });
        },
        drop: (cluster) => void known.delete(cluster),
      },
    };
  }

  return {
    openFor,
    set: (next) => {
      trouble = next;
      if (next === 'away') return;
      const runs = onBack;
      onBack = [];
      for (const run of runs) run();
    },
    isAway: () => trouble === 'away',
    isBehind: () => isBehind,
    has: (cluster) => active.has(cluster),
    endpointsOf: (cluster) => endpoints.get(cluster) ?? new Set(),
  };
}
