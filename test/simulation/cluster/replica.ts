import { type Compilation } from '../../../src/control/catalog/compile.ts';
import { isSameList, noticeFor, stayingAt } from '../../../src/control/catalog/notice.ts';
import { referredSecrets } from '../../../src/control/catalog/secrets.ts';
import { createKubeClient } from '../../../src/control/kubernetes/client.ts';
import { followCluster, type KubeReading } from '../../../src/control/kubernetes/follow-cluster.ts';
import { followServices } from '../../../src/control/kubernetes/follow-services.ts';
import { type CatalogReading, followCatalog } from '../../../src/control/reconcilers/follow-catalog.ts';
import { createEndpointTable } from '../../../src/control/reconcilers/follow-endpoints.ts';
import { unreachableBy } from '../../../src/control/reconcilers/observe-endpoints.ts';
import { joinReplicas } from '../../../src/control/reconcilers/replica.ts';
import type { KubeObject, Snapshot } from '../../../src/core/catalog.ts';
import type { CancelTimer } from '../../../src/core/clock.ts';
import type { Endpoint, FollowEndpoints } from '../../../src/core/endpoint.ts';
import { clusterMark, type ObservedCatalog } from '../../../src/core/observed-catalog.ts';
import type { Chance } from '../../programmable-engine/chance.ts';
import type { Program } from '../program.ts';
import type { SimulatedEnvoy } from './envoy.ts';
import { namespace } from './objects.ts';
import type { Wire } from './wire.ts';

/** The part of a service that follows the cluster, and writes the status of its objects while it leads. */
export interface SimulatedReplica {
  readonly name: string;
  readonly identity: string;
  readonly wire: Wire;
  readonly isLeading: () => boolean;
  /** Undefined until there is a catalog. */
  readonly snapshot: () => Snapshot | undefined;
  readonly endpointsOf: (cluster: string) => readonly Endpoint[];
  readonly close: () => Promise<void>;
}

interface ReplicaOptions {
  readonly number: number;
  readonly program: Program;
  readonly wire: Wire;
  readonly envoy: SimulatedEnvoy;
  readonly chance: Chance;
  readonly note: (text: string) => void;
}

/** How long a start waits for the first reading. */
const firstReadingMs = 5_000;

/** Connects the product's parts as `reconcilers/catalog.ts` and `reconcilers/kube-catalog.ts` do, with nothing kept on disk. */
export function startReplica({ number, program, wire, envoy, chance, note }: ReplicaOptions): SimulatedReplica {
  const clock = program.time;
  const shared = { clock, random: chance };
  const name = `weir-${number}`;
  const client = createKubeClient({
    server: 'https://api',
    authentication: {
      getName: () => 'simulated',
      applySecurityAuthentication: (context) => context.setDispatcher(wire),
    },
    close: () => Promise.resolve(),
  });
  const { publish, refused, discovery } = envoy.openFor(program);
  const table = createEndpointTable({ clock, discovery });
  const log = {
    info: (facts: object, message: string) => note(`${message} ${JSON.stringify(facts)}`),
    warn: (facts: object, message: string) => note(`${message} ${JSON.stringify(facts)}`),
    error: (facts: object, message: string) => note(`${message} ${JSON.stringify(facts)}`),
  };
  const first = Promise.withResolvers<void>();
  let newest: KubeReading | undefined;
  let served: CatalogReading | undefined;
  let compilation: Compilation | undefined;
  let catalog: ReturnType<typeof followCatalog> | undefined;
  let cancelNotice: CancelTimer = () => undefined;
  let isReady = false;
  let isClosed = false;

  const follower = followCluster({
    ...{ client, namespace, ...shared },
    secretsOf: (backends) => referredSecrets(backends.map(({ declared }) => declared)),
    onReading: (reading) => {
      newest = reading;
      first.resolve();
      serve();
    },
    onTroubles: (troubles) => note(`catalog ${JSON.stringify(troubles)}`),
  });
  const services = followServices({
    ...{ client, namespace, ...shared, kept: new Map(), onChange: () => undefined },
    onTroubles: (troubles) => note(`endpoints ${JSON.stringify(troubles)}`),
  });
  const replica = joinReplicas({
    ...{ client, namespace, name, identity: program.name, ...shared, log, observe: () => Promise.resolve(observe()) },
    latest: () => newest && compilation && { objects: newest.objects, compilation },
  });

  function serve(): void {
    if (newest === undefined) return;
    const now = clock.now();
    const leavesAtOf = (object: KubeObject) => (object.kind === 'Model' ? noticeFor(object, now)?.leavesAt : undefined);
    const staying = stayingAt(newest.objects, { now, leavesAtOf });
    cancelNotice();
    cancelNotice = clock.after(staying.lookAgainMs, serve);
    const objects = [...newest.secrets, ...staying.items.map(({ declared }) => declared)];
    if (served !== undefined && isSameList(served.objects, objects)) return;
    served = { objects, problems: [] };
    catalog?.change(served);
  }

  const findEndpoints: FollowEndpoints = (source, how) => {
    if (source.kind === 'service') return services.follow(source, how);
    const endpoints =
      source.kind === 'hosts'
        ? source.hosts.map(({ host, port }) => ({
            ...{ name: `${host}:${port}`, address: host, port, authority: `${host}:${port}`, zone: undefined },
          }))
        : [];
    how.onFound({ endpoints, trouble: undefined });
    return () => undefined;
  };

  function observe(): ObservedCatalog {
    const clusters = catalog?.snapshots.current().clusters ?? [];
    const backends = clusters.map((cluster) => {
      const isActive = envoy.has(cluster.name);
      const total = envoy.endpointsOf(cluster.name).size;
      const counts = { total, healthy: total, ejected: 0, unhealthy: 0, failing: [] };
      const trouble = total === 0 ? table.found(cluster.name)?.trouble : undefined;
      const observed = {
        refused: isActive ? undefined : refused().get(cluster.name),
        unreachable: isActive ? unreachableBy(counts) : undefined,
        failing: undefined,
        isUntried: false,
        differs: undefined,
        endpoints: isActive ? { ...counts, trouble } : undefined,
      };
      return [cluster.backend, observed] as const;
    });
    return {
      ...{
        name,
        hasEnvoy: !envoy.isAway(),
        out: new Set(),
        unlisted: new Set(),
        vectors: new Map(),
        backends: new Map(backends),
      },
      clusters: new Set(clusters.filter((each) => envoy.has(each.name)).map((each) => clusterMark(each.name))),
    };
  }

  async function begin(): Promise<void> {
    const cancel = clock.after(firstReadingMs, first.resolve);
    await first.promise;
    cancel();
    if (isClosed) return;
    catalog = followCatalog({
      first: served ?? { objects: [], problems: [] },
      ...{ previous: undefined, pods: 'followed' },
      listing: { clock, statusOf: () => ({ listed: true }), searchPrice: undefined },
      followEndpoints: (clusters) => table.follow(clusters, findEndpoints),
      applyClusters: publish,
      onProblems: () => undefined,
      onCompiled: (compiled) => {
        compilation = compiled;
        replica.changed();
      },
      onSwap: (snapshot) => {
        note(`catalog ${snapshot.version}`);
        replica.changed();
      },
      onError: (error) => note(`Envoy does not have the catalog yet: ${String(error)}`),
    });
    await catalog.published;
    isReady = true;
  }
  program.onDeath(() => cancelNotice());
  void begin();

  return {
    ...{ name, identity: program.name, wire },
    isLeading: replica.isLeading,
    snapshot: () => (isReady ? catalog?.snapshots.current() : undefined),
    endpointsOf: table.of,
    close: async () => {
      await replica.close();
      isClosed = true;
      first.resolve();
      void catalog?.close();
      await Promise.all([services.close(), follower.close()]);
      cancelNotice();
      table.close();
      await client.close();
    },
  };
}
