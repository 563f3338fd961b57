import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Outcome } from '../../core/account.ts';
import type { Fault } from '../../core/event.ts';
import type { Failure } from '../../core/failure.ts';
import type { Load, ShedReason } from '../../core/load.ts';
import type { AttemptReason, SearchRecord } from '../../core/telemetry.ts';
import type { UploadBound } from '../../core/upload.ts';
import type { Standing } from '../../core/performance.ts';
import { addStoreGauges, type StoreFigures } from './store-gauges.ts';

/** How it stands with the limits that all replicas share. */
interface SharingFigures {
  readonly isShared: boolean;
  readonly replicas: number;
  /** Answers of the server that did not come in time, since the start. */
  readonly late: number;
}

/** Adds the metrics by which an operator sees whether limits hold over all replicas. */
function addSharingGauges(registry: Registry, figures: () => SharingFigures): void {
  const registers = [registry];
  new Gauge({
    ...{ name: 'weir_limits_shared', help: '1: limits hold over all replicas. 0: each keeps its share.', registers },
    collect() {
      this.set(figures().isShared ? 1 : 0);
    },
  });
  new Gauge({
    ...{ name: 'weir_replicas', help: 'Replicas alive when the shared limits last answered.', registers },
    collect() {
      this.set(figures().replicas);
    },
  });
  let counted = 0;
  new Counter({
    name: 'weir_limits_late_total',
    help: 'Answers on shared limits that came too late: this replica decided alone.',
    registers,
    collect() {
      const { late } = figures();
      this.inc(late - counted);
      counted = late;
    },
  });
}

export interface Metrics {
  readonly outcome: (outcome: Outcome) => void;
  readonly refusal: (failure: Failure) => void;
  /** A request turned away by the service because it was too busy itself; it is a refusal, too. */
  readonly shed: (reason: ShedReason) => void;
  /** A bound ended an upload; it is a refusal, too. */
  readonly uploadRefused: (bound: UploadBound) => void;
  readonly attempt: (routeId: string, reason: AttemptReason) => void;
  readonly fault: (routeId: string, fault: Fault) => void;
  readonly implausibleUsage: (routeId: string) => void;
  readonly searched: (provider: string, result: SearchRecord['result'], durationMs: number) => void;
  readonly render: () => Promise<string>;
  readonly contentType: string;
}

/** Seconds, from a cache hit to a long generation. */
const buckets = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000];

/**
 * The service's Prometheus metrics. Labels are names from the catalog and codes from our tables, never what a caller
 * wrote: their number is bounded and they carry no content.
 */
export function createMetrics(gauges: {
  readonly inFlight: () => number;
  readonly streams: () => number;
  readonly load?: () => Load;
  /** Request bodies that are on their way, and the bytes held by all that have not been read yet. */
  readonly uploads?: { readonly arriving: () => number; readonly bytes: () => number };
  /** Share of new requests that Envoy lets through to the service. */
  readonly edgeAdmitRatio?: () => number;
  /** Absent: this process is the only one, and its limits need nobody else. */
  readonly sharing?: () => SharingFigures;
  readonly blockedAddresses?: () => number;
  readonly droppedLogRecords?: () => number;
  readonly store?: () => StoreFigures;
  /** How old the catalog may be; undefined while there is none. Absent: it is never behind its source. */
  readonly catalogAgeMs?: () => number | undefined;
  /** Whether this replica is the one that tells the cluster how its objects fare. Absent: there is no cluster. */
  readonly isLeading?: () => boolean;
  /** How the models of the catalog stand, by id. */
  readonly standings?: () => Iterable<readonly [string, Standing]>;
}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    ...{ name: 'weir_requests_total', help: 'Dispatched requests by how they ended.', registers },
    labelNames: ['model', 'outcome', 'stream'] as const,
  });
  const refusals = new Counter({
    ...{ name: 'weir_refusals_total', help: 'Requests answered with an error, by code.', registers },
    labelNames: ['code'] as const,
  });
  const attempts = new Counter({
    ...{ name: 'weir_attempts_total', help: 'Upstream attempts, by why they were made.', registers },
    labelNames: ['route', 'reason'] as const,
  });
  const sheds = new Counter({
    ...{ name: 'weir_shed_total', help: 'Requests turned away because the service itself was too busy.', registers },
    labelNames: ['reason'] as const,
  });
  const uploadRefusals = new Counter({
    ...{ name: 'weir_upload_refusals_total', help: 'Request bodies refused, by the bound they passed.', registers },
    labelNames: ['bound'] as const,
  });
  const faults = new Counter({
    ...{ name: 'weir_attempt_faults_total', help: 'Failed upstream attempts.', registers },
    labelNames: ['route', 'kind'] as const,
  });
  const implausible = new Counter({
    name: 'weir_implausible_usage_total',
    ...{ help: 'Answers whose engine counted tokens that cannot be, so that we counted.', registers },
    labelNames: ['route'] as const,
  });
  const searches = new Counter({
    ...{ name: 'weir_web_searches_total', help: 'Searches of the web by what came of them.', registers },
    labelNames: ['provider', 'result'] as const,
  });
  const searchSeconds = new Histogram({
    ...{ name: 'weir_web_search_seconds', help: 'Time a search of the web took.', registers, buckets },
    labelNames: ['provider'] as const,
  });
  const tokens = new Counter({
    ...{ name: 'weir_tokens_total', help: 'Billed tokens.', registers },
    labelNames: ['model', 'direction'] as const,
  });
  const duration = new Histogram({
    ...{ name: 'weir_request_seconds', help: 'Time from request to end of answer.', registers, buckets },
    labelNames: ['model'] as const,
  });
  const firstToken = new Histogram({
    ...{ name: 'weir_first_token_seconds', help: 'Time from request to first output.', registers, buckets },
    labelNames: ['model'] as const,
  });
  new Gauge({
    ...{ name: 'weir_requests_in_flight', help: 'Requests under way, settlement included.', registers },
    collect() {
      this.set(gauges.inFlight());
    },
  });
  new Gauge({
    ...{ name: 'weir_ext_proc_streams', help: 'Open ext_proc streams.', registers },
    collect() {
      this.set(gauges.streams());
    },
  });
  const { standings = () => [], load, edgeAdmitRatio, uploads } = gauges;
  new Gauge({
    ...{ name: 'weir_uploads', help: 'Request bodies that have not all arrived.', registers },
    collect() {
      this.set(uploads?.arriving() ?? 0);
    },
  });
  new Gauge({
    ...{ name: 'weir_upload_bytes', help: 'Memory charged to request bodies until they are read.', registers },
    collect() {
      this.set(uploads?.bytes() ?? 0);
    },
  });
  new Gauge({
    ...{ name: 'weir_event_loop_delay_seconds', help: 'How long a ready thing waits for the event loop.', registers },
    collect() {
      this.set((load?.().eventLoopDelayMs ?? 0) / 1000);
    },
  });
  new Gauge({
    ...{ name: 'weir_edge_opening', help: 'Share of new requests that Envoy lets through.', registers },
    collect() {
      this.set(edgeAdmitRatio?.() ?? 1);
    },
  });
  const { sharing, blockedAddresses = () => 0, droppedLogRecords = () => 0 } = gauges;
  new Counter({
    name: 'weir_log_dropped_total',
    help: 'Records of the log that were dropped because they could not be written.',
    registers,
    collect() {
      this.reset();
      this.inc(droppedLogRecords());
    },
  });
  new Gauge({
    ...{ name: 'weir_blocked_addresses', help: 'Addresses blocked for failed authentication.', registers },
    collect() {
      this.set(blockedAddresses());
    },
  });
  if (sharing !== undefined) addSharingGauges(registry, sharing);
  if (gauges.store !== undefined) addStoreGauges(registry, gauges.store);
  const { catalogAgeMs, isLeading } = gauges;
  if (catalogAgeMs !== undefined) {
    new Gauge({
      name: 'weir_catalog_age_seconds',
      help: 'How long ago the catalog was last in step with the API server; 0: it is. NaN: there is none yet.',
      registers,
      collect() {
        this.set((catalogAgeMs() ?? Number.NaN) / 1000);
      },
    });
  }
  if (isLeading !== undefined) {
    new Gauge({
      ...{ name: 'weir_controller_leader', help: '1: this replica writes the status of objects.', registers },
      collect() {
        this.set(isLeading() ? 1 : 0);
      },
    });
  }
  new Gauge({
    ...{ name: 'weir_model_listed', help: 'Whether the catalog lists the model: 1 or 0.', registers },
    labelNames: ['model'] as const,
    collect() {
      this.reset();
      for (const [model, { listed }] of standings()) this.set({ model }, listed ? 1 : 0);
    },
  });
  new Gauge({
    ...{ name: 'weir_model_availability', help: 'Share of requests served lately, once enough are seen.', registers },
    labelNames: ['model'] as const,
    collect() {
      this.reset();
      for (const [model, { availability }] of standings())
        if (availability !== undefined) this.set({ model }, availability);
    },
  });
  return {
    outcome: ({ modelId: model, kind, stream, usage, durationMs, firstTokenMs }) => {
      requests.inc({ model, outcome: kind, stream: String(stream) });
      tokens.inc({ model, direction: 'prompt' }, usage.promptTokens);
      tokens.inc({ model, direction: 'completion' }, usage.completionTokens);
      duration.observe({ model }, durationMs / 1000);
      if (firstTokenMs !== undefined) firstToken.observe({ model }, firstTokenMs / 1000);
    },
    refusal: ({ code }) => refusals.inc({ code }),
    shed: (reason) => sheds.inc({ reason }),
    uploadRefused: (bound) => uploadRefusals.inc({ bound }),
    attempt: (route, reason) => attempts.inc({ route, reason }),
    fault: (route, { kind }) => faults.inc({ route, kind }),
    implausibleUsage: (route) => implausible.inc({ route }),
    searched: (provider, result, durationMs) => {
      searches.inc({ provider, result });
      searchSeconds.observe({ provider }, durationMs / 1000);
    },
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
