import { Counter, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import type { Outcome } from '../../core/account.ts';
import type { InSlices } from '../../core/clock.ts';
import type { Fault } from '../../core/event.ts';
import type { RequestEnd } from '../core/request-end.ts';
import type { AttemptReason, SearchRecord } from '../../gateway/core/telemetry.ts';
import { countersOf, histogramsOf } from './declare.ts';
import { type ExemplarRegistry, type ExpositionFormat, type MetricFamily, renderMetrics } from './exposition.ts';
import { addGauges, type ServiceFigures } from './gauges.ts';
import { type AttemptCause, createModelMetrics, type ModelMetrics } from './model-metrics.ts';
import { addProcessMetrics } from './process-metrics.ts';
import { dryLimits } from '../../core/limits.ts';
import { refusingLimits } from '../../core/refusing-limit.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export interface LedgerCommit {
  readonly into: 'database' | 'journal';
  readonly rows: number;
  /** Time from the hand-over to the thread of the store until its answer. */
  readonly durationMs: number;
}

export interface MetricDescription {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Seconds: in steps of 0.1 ms up to 2 ms, where most requests are, then in growing steps up to a second. */
const addedBuckets = [
  ...Array.from({ length: 20 }, (_, index) => (index + 1) / 10_000),
  ...[0.0025, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
];
/** Seconds, from a commit on a fast disk to a commit in a distant database. */
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const searchBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25];

/** Counts what limits refuse, and what they would refuse if they were enforced. */
function limitCounters(counter: ReturnType<typeof countersOf>): (end: RequestEnd) => void {
  const refused = counter(
    'weir_limit_refusals_total',
    'Requests refused by a limit of the key, the workspace, the address, or the service.',
    'limit',
  );
  const would = counter('weir_limit_would_refuse_total', 'Requests that a dry-run limit would have refused.', 'limit');
  // A counter that exists before its first count lets Prometheus see its first step.
  for (const limit of Object.keys(refusingLimits)) refused.inc({ limit }, 0);
  for (const limit of [...dryLimits.ofKey, ...dryLimits.ofWorkspace]) would.inc({ limit }, 0);
  return ({ failure, wouldRefuse }) => {
    if (failure?.limit !== undefined) refused.inc({ limit: failure.limit });
    for (const limit of wouldRefuse) would.inc({ limit });
  };
}

/**
 * The service's Prometheus metrics. Labels are names from the catalog and codes from our tables, never what a caller
 * wrote: their number is bounded and they carry no content.
 */
export function createMetrics(figures: ServiceFigures, { inSlices }: { readonly inSlices: InSlices }) {
  const registry = new Registry();
  addProcessMetrics(registry);
  addGauges(registry, figures);

  const counter = countersOf(registry);
  const histogram = histogramsOf(registry);
  const added = histogram(
    'weir_added_latency_seconds',
    'Time that the service adds to a completed request, excluding engines and the wait for the body. before: from the request’s head to the first engine call. after: from the engine’s last output to the end of the answer, including settlement.',
    { buckets: addedBuckets, labelNames: ['surface', 'phase'] },
  );
  const countLimits = limitCounters(counter);
  const commits = histogram(
    'weir_ledger_commit_duration_seconds',
    'Time of one commit of ledger rows, to the database or, while it is down, to the journal.',
    { buckets: commitBuckets, labelNames: ['into'] },
  );
  const rows = counter(
    'weir_ledger_rows_total',
    'Ledger rows made durable, in the database or in the journal.',
    'into',
  );
  const searches = counter('weir_web_searches_total', 'Web searches, by result.', ...(['provider', 'result'] as const));
  const searchSeconds = histogram('weir_web_search_duration_seconds', 'Duration of a web search.', {
    buckets: searchBuckets,
    labelNames: ['provider'],
  });

  const models = new Map<string, ModelMetrics>();
  function ofModel(id: string): ModelMetrics {
    return models.getOrInsertComputed(id, () => createModelMetrics(id));
  }
  /** A route's id is `<model>@<backend>`. */
  function atBackend(routeId: string): readonly [ModelMetrics, backend: string] {
    const at = routeId.lastIndexOf('@');
    return [ofModel(routeId.slice(0, at)), routeId.slice(at + 1)];
  }

  /** Declares the metrics of models as long as there is no model to count for. */
  const template = createModelMetrics('');
  function* families(): Generator<MetricFamily> {
    // Drops models that have left the catalog, so that names that come and go do not pile up.
    const listed = figures.catalog().models;
    for (const id of models.keys()) if (id !== '' && !listed.has(id)) models.delete(id);
    for (const { name } of registry.getMetricsAsArray()) yield { name, registries: [registry] };
    const all = models.size === 0 ? [template] : [...models.values()];
    for (const kind of ['registry', 'times'] as const) {
      const registries = all.map((model) => model[kind]);
      for (const { name } of template[kind].getMetricsAsArray()) yield { name, registries };
    }
  }

  return {
    ended: (end: RequestEnd): void => {
      const { surface, modelId = '' } = end;
      ofModel(modelId).ended(end);
      countLimits(end);
      if (end.added === undefined) return;
      added.observe({ surface, phase: 'before' }, end.added.beforeMs / 1000);
      added.observe({ surface, phase: 'after' }, end.added.afterMs / 1000);
    },
    outcome: (outcome: Outcome): void => ofModel(outcome.modelId).outcome(outcome),
    attempt: (routeId: string, why: AttemptCause): void => {
      const [model, backend] = atBackend(routeId);
      model.attempt(backend, why);
    },
    won: (routeId: string, reason: AttemptReason): void => atBackend(routeId)[0].won(reason),
    fault: (routeId: string, fault: Fault): void => {
      const [model, backend] = atBackend(routeId);
      model.fault(backend, fault);
    },
    implausibleUsage: (routeId: string): void => {
      const [model, backend] = atBackend(routeId);
      model.implausibleUsage(backend);
    },
    searched: (provider: string, result: SearchRecord['result'], durationMs: number): void => {
      searches.inc({ provider, result });
      searchSeconds.observe({ provider }, durationMs / 1000);
    },
    /** Rows became durable together. */
    committed: (commit: LedgerCommit): void => {
      const { into } = commit;
      commits.observe({ into }, commit.durationMs / 1000);
      rows.inc({ into }, commit.rows);
    },
    /** The metrics as text. Never holds the event loop for more than a few milliseconds. */
    render: (format: ExpositionFormat): Promise<string> => renderMetrics(families(), { format, inSlices }),
    /** Every metric, for the documentation. */
    describe: (): readonly MetricDescription[] => [
      ...described(registry),
      ...described(template.registry),
      ...described(template.times),
    ],
  };
}

/** Fields of prom-client's metrics that are not in its types. */
const declaration = z.object({ name: z.string(), help: z.string(), labelNames: z.array(z.string()).default([]) });

function described(registry: Registry | ExemplarRegistry): readonly MetricDescription[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, help, labelNames } = declaration.parse(metric);
    return { name, help, type: typeOf(metric), labels: labelNames.filter((label) => label !== 'le') };
  });
}

function typeOf(metric: unknown): string {
  if (metric instanceof Histogram) return 'histogram';
  return metric instanceof Counter ? 'counter' : 'gauge';
}
