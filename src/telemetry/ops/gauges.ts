import { Counter, Gauge, type Registry } from 'prom-client';
import type { Load } from '../../core/load.ts';
import type { ModelStatus } from '../../core/replica.ts';

/** The store's state as its gauges show it (`StoreStatus` of the store). */
export interface StoreFigures {
  readonly database: 'here' | 'behind' | 'away';
  readonly journalBytes: number;
  readonly hasRoom: boolean;
  /** Rows settled but not yet durable. */
  readonly waitingRows: number;
  /** Whether damage was found in the database file; undefined where a server keeps the data. */
  readonly isDamaged: boolean | undefined;
}

/** The state of the limits that all replicas share. */
interface SharingFigures {
  readonly isShared: boolean;
  readonly replicas: number;
  /** Answers of the server that did not come in time, since the start. */
  readonly late: number;
}

/** The endpoints of one backend. */
export interface EndpointFigures {
  readonly total: number;
  /** Those that get requests. */
  readonly healthy: number;
  /** Those that get none because earlier ones failed. */
  readonly ejected: number;
}

/** What is read of the running service whenever its metrics are asked for. */
export interface ServiceFigures {
  readonly inFlight: () => number;
  readonly streams: () => number;
  readonly load?: () => Load;
  /** How many request bodies are arriving, and the bytes of memory that all unread bodies hold. */
  readonly uploads?: { readonly arriving: () => number; readonly bytes: () => number };
  /** Share of new requests that Envoy lets through to the service. */
  readonly edgeAdmitRatio?: () => number;
  /** Absent: this process is the only one and shares its limits with nobody. */
  readonly sharing?: (() => SharingFigures) | undefined;
  readonly blockedAddresses?: () => number;
  readonly droppedLogRecords?: () => number;
  readonly store?: () => StoreFigures;
  /** How far the catalog may be behind its source; undefined while there is no catalog. Absent: it is never behind. */
  readonly catalogAgeMs?: (() => number | undefined) | undefined;
  /** Whether this replica writes the status of the cluster's objects. Absent: there is no cluster. */
  readonly isLeading?: (() => boolean) | undefined;
  /** How the endpoints of each backend are, by its name; backends that Envoy does not have are left out. */
  readonly endpoints?: () => Promise<Iterable<readonly [string, EndpointFigures]>>;
  /** The status of each model of the catalog, by its id. */
  readonly modelStatuses?: () => Iterable<readonly [string, ModelStatus]>;
}

/** Adds all metrics that are read when they are asked for, in place of being counted as things happen. */
export function addGauges(registry: Registry, figures: ServiceFigures): void {
  const { load, uploads, edgeAdmitRatio, blockedAddresses, droppedLogRecords, catalogAgeMs, isLeading } = figures;
  const gauge = gaugesOf(registry);
  gauge('weir_requests_in_flight', 'Requests under way, settlement included.', figures.inFlight);
  gauge('weir_ext_proc_streams', 'Open ext_proc streams.', figures.streams);
  gauge('weir_uploads', 'Request bodies that have not all arrived.', () => uploads?.arriving() ?? 0);
  gauge('weir_upload_bytes', 'Memory charged to request bodies until they are read.', () => uploads?.bytes() ?? 0);
  gauge(
    'weir_event_loop_delay_seconds',
    'How long a ready thing waits for the event loop.',
    () => (load?.().eventLoopDelayMs ?? 0) / 1000,
  );
  gauge('weir_edge_opening', 'Share of new requests that Envoy lets through.', () => edgeAdmitRatio?.() ?? 1);
  gauge('weir_blocked_addresses', 'Addresses blocked for failed authentication.', () => blockedAddresses?.() ?? 0);
  addTotal(registry, {
    name: 'weir_log_dropped_total',
    help: 'Records of the log that were dropped because they could not be written.',
    total: () => droppedLogRecords?.() ?? 0,
  });
  if (catalogAgeMs !== undefined) {
    gauge(
      'weir_catalog_age_seconds',
      'How long ago the catalog was last in step with the API server; 0: it is. NaN: there is none yet.',
      () => (catalogAgeMs() ?? Number.NaN) / 1000,
    );
  }
  if (isLeading !== undefined) {
    gauge('weir_controller_leader', '1: this replica writes the status of objects.', () => Number(isLeading()));
  }
  if (figures.sharing !== undefined) addSharingGauges(registry, figures.sharing);
  if (figures.store !== undefined) addStoreGauges(registry, figures.store);
  addModelGauges(registry, figures.modelStatuses ?? (() => []));
  if (figures.endpoints !== undefined) addEndpointGauge(registry, figures.endpoints);
}

function addEndpointGauge(registry: Registry, read: NonNullable<ServiceFigures['endpoints']>): void {
  new Gauge({
    name: 'weir_endpoints',
    help: 'Endpoints of each backend. healthy: they get requests. unhealthy: their health check fails. ejected: requests to them failed.',
    registers: [registry],
    labelNames: ['backend', 'state'] as const,
    async collect() {
      const found = await read();
      this.reset();
      for (const [backend, { total, healthy, ejected }] of found) {
        this.set({ backend, state: 'healthy' }, healthy);
        this.set({ backend, state: 'unhealthy' }, total - healthy - ejected);
        this.set({ backend, state: 'ejected' }, ejected);
      }
    },
  });
}

/** Whether limits hold over all replicas. */
function addSharingGauges(registry: Registry, figures: () => SharingFigures): void {
  const gauge = gaugesOf(registry);
  gauge('weir_limits_shared', '1: limits hold over all replicas. 0: each keeps its share.', () =>
    Number(figures().isShared),
  );
  gauge('weir_replicas', 'Replicas alive when the shared limits last answered.', () => figures().replicas);
  addTotal(registry, {
    name: 'weir_limits_late_total',
    help: 'Answers on shared limits that came too late: this replica decided alone.',
    total: () => figures().late,
  });
}

const databaseStates = ['here', 'behind', 'away'] as const;

/** Whether bills wait outside the database, and how many more can. */
function addStoreGauges(registry: Registry, figures: () => StoreFigures): void {
  const gauge = gaugesOf(registry);
  new Gauge({
    name: 'weir_store_database',
    help: '1 for how the database stands: here; away (rows go to the journal); behind (it is back, the journal comes first).',
    registers: [registry],
    labelNames: ['state'] as const,
    collect() {
      const { database } = figures();
      for (const state of databaseStates) this.set({ state }, state === database ? 1 : 0);
    },
  });
  gauge('weir_store_journal_bytes', 'Size of the rows that wait in the journal.', () => figures().journalBytes);
  gauge('weir_store_journal_has_room', '0: the journal is nearly full, and new requests get 503.', () =>
    Number(figures().hasRoom),
  );
  gauge('weir_store_waiting_rows', 'Rows on their way to the disk.', () => figures().waitingRows);
  if (figures().isDamaged === undefined) return;
  gauge('weir_store_damaged', '1: a check of the database file at the start found damage; restore a backup.', () =>
    Number(figures().isDamaged === true),
  );
}

function addModelGauges(registry: Registry, statuses: () => Iterable<readonly [string, ModelStatus]>): void {
  const labelNames = ['model'] as const;
  new Gauge({
    name: 'weir_model_listed',
    help: 'Whether the catalog lists the model: 1 or 0.',
    registers: [registry],
    labelNames,
    collect() {
      this.reset();
      for (const [model, { listed }] of statuses()) this.set({ model }, listed ? 1 : 0);
    },
  });
  new Gauge({
    name: 'weir_model_availability',
    help: 'Share of requests served lately, once enough are seen.',
    registers: [registry],
    labelNames,
    collect() {
      this.reset();
      for (const [model, { availability }] of statuses()) {
        if (availability !== undefined) this.set({ model }, availability);
      }
    },
  });
}

/** Declares gauges without labels, each with a function that reads its value. */
function gaugesOf(registry: Registry) {
  return (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
}

/** Declares a counter whose total is kept elsewhere. */
function addTotal(
  registry: Registry,
  { name, help, total }: { readonly name: string; readonly help: string; readonly total: () => number },
): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(total());
    },
  });
}
