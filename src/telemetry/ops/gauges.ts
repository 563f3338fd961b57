import { Counter, Gauge, type Registry } from 'prom-client';
import type { BackendDemand } from '../../gateway/core/backend-demand.ts';
import type { Load } from '../../core/load.ts';
import { type Problem, problemKinds } from '../../control/core/problem.ts';
import type { Route, Snapshot } from '../../core/catalog.ts';
import type { ModelStatus, VectorsFigure } from '../../core/observed-catalog.ts';
import type { FailingDependency } from '../../core/dependency-cause.ts';
import { addBackendGauges, type BackendFigures } from './backend-gauges.ts';
import { addDependencyGauge } from './dependency-gauge.ts';
import { addTotal, gaugesOf, labelledGaugesOf } from './declare.ts';
import { addDemandMetrics } from './demand-metrics.ts';
import { addEventMetrics, type EventFigures } from './event-metrics.ts';
import { addDiskGauges, addStoreGauges, type StoreFigures } from './store-gauges.ts';

/** The state of the limits that all replicas share. */
interface SharingFigures {
  readonly isShared: boolean;
  readonly replicas: number;
  /** Answers of Valkey that arrived too late, since the start. */
  readonly late: number;
}

/** One thread of the process. */
export interface ThreadFigures {
  readonly thread: string;
  /** Time in which its event loop had work, since its start. */
  readonly busyMs: number;
  /**
   * The latest wait of a message for its event loop. Undefined for the thread that serves requests: its load is
   * measured instead.
   */
  readonly delayMs: number | undefined;
  /** Memory of V8. Undefined: the thread did not answer in time. */
  readonly memory: { readonly heapBytes: number; readonly externalBytes: number } | undefined;
}

/** The catalog that is served. */
interface CatalogFigures {
  /** Models by their ids. */
  readonly models: ReadonlyMap<string, unknown>;
  /** When the snapshot that is served was taken, milliseconds since the Unix epoch. */
  readonly servedAt: number;
  /** Whether each route accepts requests: neither ejected nor cooling off. */
  readonly routes: Iterable<{
    readonly model: string;
    readonly backend: string;
    readonly weight: number;
    readonly isServing: boolean;
  }>;
}

/** The state of the endpoints that Envoy gets over xDS. */
export interface DiscoveryFigures {
  /** Envoys that are connected. */
  readonly streams: number;
  /** Age of the oldest message that Envoy has not answered; 0: it has answered all. */
  readonly unansweredMs: number;
  readonly refusals: number;
}

/** The values that are read at each scrape of the metrics. Undefined: this service does not have the value. */
export interface ServiceFigures extends BackendFigures {
  readonly version: string;
  readonly inFlight: () => number;
  readonly streams: () => number;
  readonly load: () => Load;
  /** How many request bodies are arriving, and the bytes of memory that all unread bodies hold. */
  readonly uploads: { readonly arriving: () => number; readonly bytes: () => number };
  /** Share of new requests that Envoy lets through to the service. */
  readonly edgeAdmitRatio: () => number;
  /** Undefined: this process is the only one and its limits are its own. */
  readonly sharing: (() => SharingFigures) | undefined;
  readonly blockedAddresses: () => number;
  /** The programs that the service depends on and that fail it now. */
  readonly failing: () => readonly FailingDependency[];
  readonly droppedLogRecords: () => number;
  readonly store: () => StoreFigures;
  /** Room on the disk of the data folder, bytes; undefined where it cannot be read. */
  readonly disk: () => Promise<{ readonly free: number; readonly size: number } | undefined>;
  readonly catalog: () => CatalogFigures;
  /**
   * How far the catalog may be behind its source; undefined if there is no catalog. Undefined function: it is never
   * behind.
   */
  readonly catalogAgeMs: (() => number | undefined) | undefined;
  /** Whether this replica writes the status of the cluster's objects. Undefined: there is no cluster. */
  readonly isLeading: (() => boolean) | undefined;
  readonly discovery: () => DiscoveryFigures;
  /** The status of each model of the catalog, by its id. */
  readonly modelStatuses: () => Iterable<readonly [string, ModelStatus]>;
  /** The routes of embedding models. */
  readonly vectors: () => readonly VectorsFigure[];
  readonly threads: () => Promise<readonly ThreadFigures[]>;
  /** What is wrong now, the most urgent first. */
  readonly problems: () => readonly Pick<Problem, 'object' | 'kind'>[];
  readonly demands: () => readonly BackendDemand[];
  readonly events: EventFigures | undefined;
}

/** Adds all metrics whose values are read at each scrape. */
export function addGauges(registry: Registry, figures: ServiceFigures): void {
  const { load, uploads, edgeAdmitRatio, blockedAddresses, droppedLogRecords, version } = figures;
  const gauge = gaugesOf(registry);
  labelledGaugesOf(registry)('weir_build_info', 'Always 1; the service version is a label.', ['version'], () => [
    [{ version }, 1],
  ]);
  gauge('weir_requests_in_flight', 'In-flight requests, settlement included.', figures.inFlight);
  gauge('weir_ext_proc_streams', 'Open ext_proc streams.', figures.streams);
  gauge('weir_uploads_in_flight', 'Request bodies that are still arriving.', uploads.arriving);
  gauge('weir_upload_memory_bytes', 'Memory charged to request bodies until their requests end.', uploads.bytes);
  gauge(
    'weir_event_loop_delay_seconds',
    'Delay of the event loop that serves requests.',
    () => load().eventLoopDelayMs / 1000,
  );
  gauge('weir_open_files_ratio', 'Open files of the service, as a share of its limit.', () => load().filesShare);
  gauge('weir_edge_admitted_ratio', 'Share of new requests that Envoy admits to the service.', edgeAdmitRatio);
  gauge('weir_blocked_addresses', 'Networks blocked for failed authentication.', blockedAddresses);
  addTotal(registry, {
    name: 'weir_log_dropped_records_total',
    help: 'Log records dropped because they could not be written.',
    total: droppedLogRecords,
  });
  if (figures.sharing !== undefined) addSharingGauges(registry, figures.sharing);
  addDependencyGauge(registry, figures.failing);
  addStoreGauges(registry, figures.store);
  addDiskGauges(registry, figures.disk);
  addCatalogGauges(registry, figures);
  addModelGauges(registry, figures.modelStatuses);
  addVectorGauges(registry, figures.vectors);
  addBackendGauges(registry, figures);
  addProblemGauges(registry, figures.problems);
  addDemandMetrics(registry, figures.demands);
  if (figures.events !== undefined) addEventMetrics(registry, figures.events);
  addThreadGauges(registry, figures.threads, () => load().eventLoopDelayMs);
}

/** The models and routes of a snapshot, for the gauges. */
export function catalogFigures(
  { models }: Snapshot,
  isServing: (route: Route) => boolean,
): Pick<CatalogFigures, 'models' | 'routes'> {
  const routes = [...models.values()].flatMap(({ id, routes: ofModel }) =>
    ofModel.map((route) => ({
      model: id,
      backend: route.backend.name,
      weight: route.weight,
      isServing: isServing(route),
    })),
  );
  return { models, routes };
}

function addCatalogGauges(
  registry: Registry,
  {
    catalog,
    catalogAgeMs,
    isLeading,
    discovery,
  }: Pick<ServiceFigures, 'catalog' | 'catalogAgeMs' | 'isLeading' | 'discovery'>,
): void {
  const gauge = gaugesOf(registry);
  gauge('weir_catalog_models', 'Models in the current catalog.', () => catalog().models.size);
  gauge(
    'weir_catalog_served_timestamp_seconds',
    'Time at which Weir loaded the current catalog, seconds since the Unix epoch.',
    () => catalog().servedAt / 1000,
  );
  if (catalogAgeMs !== undefined) {
    gauge(
      'weir_catalog_age_seconds',
      'Time for which the catalog watch has been out of sync; 0: it is in sync; NaN: no catalog yet.',
      () => (catalogAgeMs() ?? Number.NaN) / 1000,
    );
  }
  if (isLeading !== undefined) {
    gauge('weir_controller_leader', '1: this replica writes the status of objects.', () => Number(isLeading()));
  }
  gauge('weir_xds_streams', 'Connected Envoys that receive endpoints.', () => discovery().streams);
  gauge(
    'weir_xds_unanswered_seconds',
    'Age of the oldest endpoint update that Envoy has not acknowledged; 0: none.',
    () => discovery().unansweredMs / 1000,
  );
  addTotal(registry, {
    name: 'weir_xds_refusals_total',
    help: 'Endpoint updates that Envoy refused.',
    total: () => discovery().refusals,
  });
  const labelledGauge = labelledGaugesOf(registry);
  labelledGauge(
    'weir_route_serving',
    '1: the route takes requests, a standby once nothing else is left. 0: all its endpoints fail their health check or probe, are ejected or are cooling off.',
    ['model', 'backend'],
    () => Array.from(catalog().routes, ({ model, backend, isServing }) => [{ model, backend }, Number(isServing)]),
  );
  labelledGauge(
    'weir_route_weight',
    'Weight of the route. 0: a standby, used only when no other route is left.',
    ['model', 'backend'],
    () => Array.from(catalog().routes, ({ model, backend, weight }) => [{ model, backend }, weight]),
  );
}

/** Adds the gauges that show whether limits hold over all replicas. */
function addSharingGauges(registry: Registry, figures: () => SharingFigures): void {
  const gauge = gaugesOf(registry);
  gauge('weir_limits_shared', '1: limits hold over all replicas. 0: each keeps its share.', () =>
    Number(figures().isShared),
  );
  gauge('weir_replicas', 'Live replicas, as of the last answer of Valkey.', () => figures().replicas);
  addTotal(registry, {
    name: 'weir_limits_late_total',
    help: 'Late answers of Valkey: this replica decided alone.',
    total: () => figures().late,
  });
}

function addModelGauges(registry: Registry, statuses: () => Iterable<readonly [string, ModelStatus]>): void {
  const labelledGauge = labelledGaugesOf(registry);
  labelledGauge('weir_model_listed', 'Whether the catalog lists the model: 1 or 0.', ['model'], () =>
    Array.from(statuses(), ([model, { listed }]) => [{ model }, Number(listed)]),
  );
  labelledGauge(
    'weir_model_availability_ratio',
    'Share of recent requests that were served; absent until there are enough requests.',
    ['model'],
    () =>
      [...statuses()].flatMap(([model, { availability }]) =>
        availability === undefined ? [] : [[{ model }, availability] as const],
      ),
  );
}

function addVectorGauges(registry: Registry, vectors: () => readonly VectorsFigure[]): void {
  const labelledGauge = labelledGaugesOf(registry);
  const labels = ['model', 'route'] as const;
  labelledGauge(
    'weir_route_same_vectors',
    'Whether all probed endpoints of the route return the model’s reference vectors: 1 or 0; absent until one was probed.',
    labels,
    () =>
      vectors().flatMap(({ model, route, isSame }) =>
        isSame === undefined ? [] : [[{ model, route }, Number(isSame)] as const],
      ),
  );
  labelledGauge(
    'weir_route_vector_similarity',
    "Lowest cosine of the route's vectors to the model's reference, over its endpoints and the probe texts.",
    labels,
    () =>
      vectors().flatMap(({ model, route, similarity }) =>
        similarity === undefined ? [] : [[{ model, route }, similarity] as const],
      ),
  );
}

function addThreadGauges(registry: Registry, read: ServiceFigures['threads'], ownDelayMs: () => number): void {
  const registers = [registry];
  // The first of these three is rendered first, so it reads the values of all.
  new Counter({
    name: 'weir_thread_busy_seconds_total',
    help: 'Busy time of each thread’s event loop; a growth of one second a second means that it is saturated.',
    registers,
    labelNames: ['thread'] as const,
    async collect() {
      const threads = await read();
      this.reset();
      delay.reset();
      memoryBytes.reset();
      for (const { thread, busyMs, delayMs = ownDelayMs(), memory } of threads) {
        this.inc({ thread }, busyMs / 1000);
        delay.set({ thread }, delayMs / 1000);
        if (memory === undefined) continue;
        memoryBytes.inc({ thread, kind: 'heap' }, memory.heapBytes);
        memoryBytes.inc({ thread, kind: 'external' }, memory.externalBytes);
      }
    },
  });
  const delay = new Gauge({
    name: 'weir_thread_delay_seconds',
    help: 'Delay of each thread’s event loop. Measured continuously for the thread that serves requests, and at each scrape, up to a second, for the others.',
    registers,
    labelNames: ['thread'] as const,
  });
  const memoryBytes = new Gauge({
    name: 'weir_thread_memory_bytes',
    help: 'Memory of each thread: its heap, and buffers outside the heap.',
    registers,
    labelNames: ['thread', 'kind'] as const,
  });
}

/** Most problems with a series of their own. Prometheus keeps each series for as long as it keeps any data. */
const maxNamed = 100;

/** Adds the current problems: how many there are of each kind, and the most urgent ones by name. */
function addProblemGauges(registry: Registry, read: ServiceFigures['problems']): void {
  const labelledGauge = labelledGaugesOf(registry);
  labelledGauge(
    'weir_problem',
    `1 for each current problem, as \`weir problems\` lists them; the ${maxNamed} most urgent ones.`,
    ['object', 'kind'],
    () =>
      read()
        .slice(0, maxNamed)
        .map(({ object, kind }) => [{ object, kind }, 1]),
  );
  labelledGauge('weir_problems', 'Current problems of each kind.', ['kind'], () => {
    const byKind = Map.groupBy(read(), ({ kind }) => kind);
    return problemKinds.map((kind) => [{ kind }, byKind.get(kind)?.length ?? 0]);
  });
}
