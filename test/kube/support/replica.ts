import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { EnvoyEndpoints, EnvoyClusters } from '../../../src/control/envoy/runtime/cluster-publisher.ts';
import type { Cluster, Model, Route, Snapshot } from '../../../src/core/catalog.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { CheckIdentity } from '../../../src/core/identity.ts';
import { openCatalog } from '../../../src/control/reconcilers/catalog.ts';
import { openDeclaredAccounts } from '../../../src/programs/serve/declared-accounts.ts';
import { databaseLocation } from '../../../src/books/databases/database-location.ts';
import { createEndpointTable } from '../../../src/control/reconcilers/follow-endpoints.ts';
import { systemClock } from '../../../src/process/clock.ts';
import { readSettings } from '../../../src/process/settings/read-settings.ts';

/** Stands in for Envoy where a test wants it to refuse, to lag or to find an engine ill. */
export interface StandInEnvoy {
  /** Backends whose cluster it does not take, with its reason. */
  readonly refused: Map<string, string>;
  /** Backends whose cluster it has not come to yet. */
  readonly lagging: Set<string>;
  /** Backends with these numbers of endpoints, and the names of some that are not well. */
  readonly endpoints: Map<string, Pick<EnvoyEndpoints, 'total' | 'healthy'> & Partial<EnvoyEndpoints>>;
  isAway: boolean;
}

export interface TestReplica {
  readonly name: string;
  readonly envoy: StandInEnvoy;
  /** Ids of routes that are out, and of models that are not listed. */
  readonly out: Set<string>;
  readonly unlisted: Set<string>;
  /** Names of the endpoints that a route leaves out, by the route's id. */
  readonly ejected: Map<string, readonly string[]>;
  readonly snapshot: () => Snapshot;
  readonly models: () => readonly string[];
  /** Names of the endpoints of a Backend. */
  readonly endpoints: (backend: string) => readonly string[];
  readonly isLeading: () => boolean;
  readonly ageMs: () => number | undefined;
  /** Versions that were served, the first one included. */
  readonly swaps: () => number;
  /** Lines of the log. */
  readonly log: () => readonly string[];
  readonly close: () => Promise<void>;
}

export interface TestReplicaOptions {
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly name?: string;
  readonly clock?: Clock;
  /** Has every line of its log as it is written. */
  readonly onLog?: (line: string) => void;
  /** Default: a new folder that is removed at the end. */
  readonly data?: string;
  /** It brings the accounts that objects declare into the database of this folder, which exists. */
  readonly accounts?: {
    readonly data: string;
    readonly namespaces?: readonly string[];
    /** What is known of Identities before their first token. Default: nothing is wrong. */
    readonly check?: CheckIdentity | undefined;
  };
}

/** A replica as `weir serve` puts it together, on a stand-in for Envoy and without requests. */
export async function startTestReplica(options: TestReplicaOptions): Promise<TestReplica> {
  const { kubeconfig, namespace, name = 'weir-0' } = options;
  const data = options.data ?? mkdtempSync(join(tmpdir(), 'weir-replica-'));
  const lines: string[] = [];
  const log = pino(
    { base: {} },
    {
      write: (line: string) => {
        lines.push(line);
        options.onLog?.(line);
      },
    },
  );
  const settings = readSettings({
    ...{ WEIR_DATA: data, WEIR_KUBERNETES_NAMESPACE: namespace, WEIR_POD_NAME: name },
    WEIR_ACCOUNT_NAMESPACES: (options.accounts?.namespaces ?? []).join(','),
  });
  const declared =
    options.accounts &&
    openDeclaredAccounts(settings, databaseLocation({ data: options.accounts.data }), async (identity) =>
      options.accounts?.check?.(identity),
    );
  const [out, unlisted] = [new Set<string>(), new Set<string>()];
  const ejected = new Map<string, readonly string[]>();
  const envoy: StandInEnvoy = { refused: new Map(), lagging: new Set(), endpoints: new Map(), isAway: false };
  let applied: readonly Cluster[] = [];
  let swaps = 0;

  const table = createEndpointTable({
    clock: options.clock ?? systemClock,
    discovery: { set: () => Promise.resolve(), drop: () => undefined },
  });
  const catalog = await openCatalog(settings, {
    log,
    clock: options.clock ?? systemClock,
    random: Math.random,
    instance: randomUUID(),
    environment: { KUBECONFIG: kubeconfig },
    accounts: declared?.parts,
    envoy: {
      publish: (clusters) => {
        applied = clusters;
        return Promise.resolve();
      },
      refused: () =>
        new Map(
          applied.flatMap(({ name: cluster, backend }) => {
            const reason = envoy.refused.get(backend);
            return reason === undefined ? [] : [[cluster, reason]];
          }),
        ),
      look: (): Promise<EnvoyClusters | undefined> =>
        Promise.resolve(
          envoy.isAway
            ? undefined
            : {
                active: new Set(
                  applied
                    .filter(({ backend }) => !envoy.refused.has(backend) && !envoy.lagging.has(backend))
                    .map((cluster) => cluster.name),
                ),
                endpoints: new Map(
                  [...envoy.endpoints].map(([backend, counts]) => [backend, { failing: [], ...counts }]),
                ),
              },
        ),
      close: () => undefined,
    },
    endpoints: table,
    followHosts: ({ hosts }, { onFound }) => {
      const endpoints = hosts.map(({ host, port }) => {
        const endpoint = `${host}:${port}`;
        return { name: endpoint, address: host, port, authority: endpoint, zone: undefined };
      });
      onFound({ endpoints, trouble: undefined });
      return () => undefined;
    },
    extraClusters: [],
    isServing: ({ id }: Route) => !out.has(id),
    ejected: ({ id }: Route) => ejected.get(id) ?? [],
    slow: () => [],
    record: () => ({ answeredAt: undefined, failing: undefined, refusal: undefined, triedAt: undefined }),
    answerOf: () => undefined,
    probeOf: () => ({ at: 0, since: 0, answer: { kind: 'lists' } }),
    vectorsFaults: () => new Map(),
    statusOf: ({ id }: Model) => ({ listed: !unlisted.has(id) }),
    searchPrice: undefined,
    onChanged: () => undefined,
    onServed: () => {
      swaps += 1;
    },
  });
  await catalog.ready;
  return {
    ...{ name, envoy, out, unlisted, ejected },
    snapshot: catalog.snapshots.current,
    endpoints: (backend) => {
      const cluster = catalog.snapshots.current().clusters.find((one) => one.backend === backend);
      return cluster === undefined ? [] : table.of(cluster.name).map((endpoint) => endpoint.name);
    },
    models: () => [...catalog.snapshots.current().models.keys()],
    isLeading: catalog.isLeading,
    ageMs: () => catalog.ageMs?.(),
    swaps: () => swaps,
    log: () => lines,
    close: async () => {
      await catalog.leave();
      await catalog.close();
      await declared?.close();
      table.close();
      if (options.data === undefined) rmSync(data, { recursive: true });
    },
  };
}
