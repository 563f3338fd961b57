/** The catalog that is served: its source, the parts that follow the source, and the replica that reports to the cluster. */
import { type Compilation, compile } from '../catalog/compile.ts';
import type { Statement } from '../catalog/conditions.ts';
import { statusParts } from '../catalog/object-status.ts';
import type { CatalogProblem, Cluster, KubeObject, Model, Snapshot } from '../../core/catalog.ts';
import { within } from '../../core/clock.ts';
import type { FollowEndpoints, HostsSource } from '../../core/endpoint.ts';
import type { Money } from '../../core/money.ts';
import type { ModelStatus, ObservedCatalog, ObservedEndpoints } from '../../core/observed-catalog.ts';
import type { ClusterPublisher, EnvoyClusters } from '../envoy/runtime/cluster-publisher.ts';
import { limitRepeats } from '../../telemetry/ops/repeat-limit.ts';
import { createProblemLog } from '../../telemetry/ops/telemetry.ts';
import type { ConditionStatus } from '../core/live-catalog.ts';
import { createSlices } from '../../process/turns.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { CatalogSource, CatalogSourceOptions } from './catalog-source.ts';
import { followCatalog } from './follow-catalog.ts';
import type { EndpointTable } from './follow-endpoints.ts';
import type { AccountsParts } from './account-controller.ts';
import { openManifestFolder } from './manifest-catalog.ts';
import { type CatalogFacts, observeCatalog, replicaName } from './observe-catalog.ts';
import { observeEndpoints } from './observe-endpoints.ts';

/** All facts about the catalog at one moment. */
export interface CatalogView {
  readonly objects: readonly KubeObject[];
  readonly compilation: Compilation;
  readonly problems: readonly CatalogProblem[];
  /** The observations of this replica. */
  readonly own: ObservedCatalog;
}

/**
 * The conditions of an object, computed from the observations of this replica alone. They have the form of the status
 * in a cluster.
 */
export function ownConditions(
  object: KubeObject,
  { compilation, own }: CatalogView,
  now: number,
): readonly Statement[] {
  return statusParts(object, { compilation, replicas: [own], now })?.statements ?? [];
}

/** The status of the condition `Healthy` of each Backend, by its name. Works in slices. */
export async function backendHealth(
  view: CatalogView,
  now: number,
): Promise<readonly (readonly [string, ConditionStatus])[]> {
  const backends = view.objects.filter(({ kind }) => kind === 'Backend');
  const all = await createSlices()(backends, (object) => {
    const status = ownConditions(object, view, now).find(({ type }) => type === 'Healthy')?.status;
    return status === undefined ? [] : [[object.name, status] as const];
  });
  return all.flat();
}

/**
 * Envoy answers within milliseconds. A collector of metrics waits ten seconds at most, and must get the other metrics
 * in time, too.
 */
const envoyTimeoutMs = 1_000;

export interface CatalogOptions
  extends
    Omit<CatalogSourceOptions, 'onChange'>,
    Pick<CatalogFacts, 'isServing' | 'ejected' | 'slow' | 'record' | 'answerOf' | 'probeOf' | 'vectorsFaults'> {
  /** Where KUBECONFIG is looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly envoy: Pick<ClusterPublisher, 'publish' | 'refused' | 'look' | 'close'>;
  readonly endpoints: Pick<EndpointTable, 'follow' | 'found'>;
  readonly followHosts: FollowEndpoints<HostsSource>;
  /** Clusters that Envoy needs in addition to the catalog's. */
  readonly extraClusters: readonly Cluster[];
  readonly statusOf: (model: Model) => ModelStatus;
  /** The price of a web search; undefined if there is no web search. */
  readonly searchPrice: Money | undefined;
  /** The accounts that objects declare. Absent: objects declare none. */
  readonly accounts?: AccountsParts | undefined;
  /** Called with every snapshot that requests get, the first one included. */
  readonly onServed: (snapshot: Snapshot) => void;
  /** Called when the objects of the catalog, or its problems, may have changed. */
  readonly onChanged: () => void;
}

export type ServedCatalog = Awaited<ReturnType<typeof openCatalog>>;

/** Opens the catalog that the settings name, and follows it. Rejects when they name a cluster and none is configured. */
export async function openCatalog(settings: Settings, options: CatalogOptions) {
  const { clock, envoy, endpoints, extraClusters, statusOf, searchPrice, onServed, onChanged } = options;
  const log = limitRepeats(options.log, clock);
  const source = await openSource(settings, { ...options, log, onChange: (reading) => catalog.change(reading) });
  let compilation: Compilation | undefined;
  let problems: readonly CatalogProblem[] = [];
  const logProblems = createProblemLog(options.log, 'manifest problem');
  const facts: CatalogFacts = {
    ...options,
    name: replicaName(settings),
    snapshot: () => catalog.snapshots.current(),
    refused: envoy.refused,
    isListed: (model) => statusOf(model).listed,
    troubleOf: (cluster) => endpoints.found(cluster)?.trouble,
  };
  const replica = source.join({
    observe: async () => observeCatalog(facts, await envoy.look()),
    accounts: options.accounts,
  });
  const findEndpoints: FollowEndpoints = (wanted, how) => {
    if (wanted.kind === 'hosts') return options.followHosts(wanted, how);
    if (source.followPods !== undefined) return source.followPods(wanted, how);
    // `compile` has refused such a Backend.
    how.onFound({ endpoints: [], trouble: 'spec: there is no cluster whose pods could be followed' });
    return () => undefined;
  };
  const catalog = followCatalog({
    first: source.first,
    previous: source.previous,
    pods: source.followPods === undefined ? 'refused' : 'followed',
    listing: { clock, statusOf, searchPrice },
    followEndpoints: (clusters) => endpoints.follow([...clusters, ...extraClusters], findEndpoints),
    applyClusters: (clusters) => envoy.publish([...clusters, ...extraClusters]),
    onProblems: (found) => {
      problems = found;
      logProblems(found);
    },
    onCompiled: (compiled) => {
      compilation = compiled;
      source.compiled(compiled);
      replica.changed();
      onChanged();
    },
    onSwap: (snapshot) => {
      onServed(snapshot);
      replica.changed();
      onChanged();
      log.info({ version: snapshot.version, models: snapshot.models.size }, 'catalog changed');
    },
    onError: (error) => log.error({ error: String(error) }, 'catalog not synced to Envoy'),
  });
  onServed(catalog.snapshots.current());

  /** The clusters that Envoy has; undefined while Envoy does not answer within a second. */
  const lookAtEnvoy = (): Promise<EnvoyClusters | undefined> => within(envoyTimeoutMs, clock, envoy.look());

  return {
    snapshots: catalog.snapshots,
    modelList: catalog.modelList,
    modelEntry: catalog.modelEntry,
    /** Resolves when requests can be served: there is a catalog, and Envoy has its clusters. */
    ready: Promise.all([catalog.published, source.known]).then(() => catalog.idle()),
    /** See `CatalogSource.ageMs`. */
    ageMs: source.ageMs,
    /** The endpoints of the Backends that Envoy has, by the Backend's name; none while Envoy does not answer within a second. */
    endpoints: async (): Promise<ReadonlyMap<string, ObservedEndpoints>> =>
      observeEndpoints(facts.snapshot(), await lookAtEnvoy(), facts),
    /** Observes the catalog. Waits a second at most for Envoy. */
    look: async (): Promise<CatalogView> => {
      const seen = await lookAtEnvoy();
      const last = compilation ?? compile([]);
      const own = await observeCatalog(facts, seen);
      return { objects: source.objects(last), compilation: last, problems, own };
    },
    /** Whether this replica writes the status of the cluster's objects. */
    isLeading: replica.isLeading,
    /** Lets another replica lead at once. */
    leave: replica.close,
    /** Call after `leave`. */
    close: async (): Promise<void> => {
      await source.close();
      // Envoy may not answer any more: stop waiting for its confirmation.
      envoy.close();
      await catalog.close();
    },
  };
}

async function openSource(
  settings: Settings,
  options: CatalogSourceOptions & Pick<CatalogOptions, 'environment'>,
): Promise<CatalogSource> {
  const namespace = settings.WEIR_KUBERNETES_NAMESPACE;
  if (namespace === undefined) return openManifestFolder(settings, options);
  // The Kubernetes client is large, and a folder does not need it.
  const { openKubernetes } = await import('./kube-catalog.ts');
  return openKubernetes(settings, { ...options, namespace });
}
