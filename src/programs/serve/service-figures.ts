import type { Worker } from 'node:worker_threads';
import type { DependencyWatch, FailingDependency } from '../../core/dependency-cause.ts';
import type { Route } from '../../core/catalog.ts';
import type { LoadShedder } from '../../control/envoy/runtime/load-shedder.ts';
import type { EndpointDiscovery } from '../../control/envoy/runtime/endpoint-discovery.ts';
import type { UploadLedger } from '../../gateway/admission/uploads.ts';
import { systemClock } from '../../process/clock.ts';
import { diskOf } from '../../process/machine.ts';
import type { LogStream } from '../../process/log-stream.ts';
import type { ProcessLoad } from '../../process/load.ts';
import type { ThreadWatch } from '../../process/threads.ts';
import type { ValkeyLimits } from '../../gateway/rate-limits/valkey.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { AvoidableLimit } from '../../core/avoidable-limit.ts';
import type { OpenStore } from '../../books/store/connect-store.ts';
import type { FileCheck } from '../../books/databases/sqlite/file-check.ts';
import type { ModelPerformance } from '../../telemetry/performance/model-performance.ts';
import { catalogFigures, type ServiceFigures } from '../../telemetry/ops/gauges.ts';
import { backendHealth, type ServedCatalog } from '../../control/reconcilers/catalog.ts';
import type { ReferenceStore } from '../../control/reconcilers/store-port.ts';
import type { VectorsWatch } from '../../control/reconcilers/watch-vectors.ts';
import type { ProgramSurroundings } from '../command-line/run-program.ts';
import manifest from '../../../package.json' with { type: 'json' };

/** A service's surroundings, the thread for its store, and what the thread of events beside it has found. */
export type ServiceSurroundings = ProgramSurroundings &
  Pick<ServiceFigures, 'events'> & {
    readonly dependencies: DependencyWatch;
    readonly avoidable: () => readonly AvoidableLimit[];
    readonly storeThread: Worker;
    /** The reference vectors of embedding models, in the thread of the events. */
    readonly references: ReferenceStore;
    /** Which one of several services behind one Envoy it is, from 1 on. Undefined: it has its Envoy for itself. */
    readonly number: number | undefined;
  };

/** The parts of a service from which its metrics are read. */
interface MeasuredParts {
  readonly settings: Settings;
  readonly store: OpenStore;
  /** Undefined: a server keeps the data. */
  readonly fileCheck: FileCheck | undefined;
  readonly catalog: ServedCatalog;
  readonly isServing: (route: Route) => boolean;
  readonly measured: Pick<ModelPerformance, 'statusOf'>;
  readonly vectors: Pick<VectorsWatch, 'figures'>;
  /** Undefined: limits are not shared. */
  readonly link: ValkeyLimits['link'] | undefined;
  readonly gate: { readonly blocked: () => number };
  readonly load: Pick<ProcessLoad, 'current'>;
  readonly shedder: Pick<LoadShedder, 'admitRatio'>;
  readonly discovery: Pick<EndpointDiscovery, 'status'>;
  readonly threads: Pick<ThreadWatch, 'read'>;
  readonly output: Pick<LogStream, 'dropped'>;
  readonly events: ServiceFigures['events'];
  readonly dependencies: Pick<DependencyWatch, 'failing'>;
  /** When the snapshot that is served was taken, milliseconds since the Unix epoch. */
  readonly servedAt: () => number;
  readonly problems: ServiceFigures['problems'];
  readonly demands: ServiceFigures['demands'];
  readonly underWay: () => {
    readonly requests: number;
    readonly streams: number;
    readonly uploads: Pick<UploadLedger, 'arriving' | 'bytes'>;
  };
}

/** The values of a service's metrics, read at each scrape. */
export function figuresOf(parts: MeasuredParts): ServiceFigures {
  const { settings, store, fileCheck, catalog, isServing, measured, link, underWay } = parts;
  return {
    version: manifest.version,
    sharing: link && (() => ({ isShared: link.isUp(), replicas: link.replicas(), late: link.late() })),
    blockedAddresses: parts.gate.blocked,
    failing: () => [...failingStores(parts), ...parts.dependencies.failing()],
    store: () => ({
      ...store.status(),
      ...store.upkeep(),
      waitingRows: store.waiting(),
      isDamaged: fileCheck?.isDamaged(),
    }),
    disk: () => diskOf(settings.WEIR_DATA),
    catalog: () => ({
      ...catalogFigures(catalog.snapshots.current(), isServing),
      servedAt: parts.servedAt(),
    }),
    catalogAgeMs: catalog.ageMs,
    isLeading: catalog.ageMs && catalog.isLeading,
    discovery: parts.discovery.status,
    inFlight: () => underWay().requests,
    streams: () => underWay().streams,
    load: parts.load.current,
    uploads: { arriving: () => underWay().uploads.arriving(), bytes: () => underWay().uploads.bytes() },
    edgeAdmitRatio: parts.shedder.admitRatio,
    droppedLogRecords: parts.output.dropped,
    endpoints: catalog.endpoints,
    backendHealth: async () => backendHealth(await catalog.look(), systemClock.now()),
    modelStatuses: () =>
      [...catalog.snapshots.current().models.values()].map((model) => [model.id, measured.statusOf(model)]),
    vectors: parts.vectors.figures,
    threads: parts.threads.read,
    problems: parts.problems,
    demands: parts.demands,
    events: parts.events,
  };
}

function failingStores({ store, link }: Pick<MeasuredParts, 'store' | 'link'>): readonly FailingDependency[] {
  const { database, cause = 'failed', reason = '' } = store.status();
  const valkey = link?.failure();
  return [
    ...(database === 'down' ? [{ dependency: 'database' as const, cause, reason }] : []),
    ...(valkey === undefined ? [] : [{ dependency: 'valkey' as const, ...valkey }]),
  ];
}
