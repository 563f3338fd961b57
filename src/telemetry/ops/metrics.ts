import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import type { Outcome } from '../../core/account.ts';
import type { Fault } from '../../core/event.ts';
import type { UploadBound } from '../../core/exchange.ts';
import type { Failure } from '../../core/failure.ts';
import type { ShedReason } from '../../core/load.ts';
import type { AttemptReason, AttemptStep, SearchRecord } from '../../core/telemetry.ts';
import { addGauges, type ServiceFigures } from './gauges.ts';

export interface Metrics {
  readonly outcome: (outcome: Outcome) => void;
  readonly refusal: (failure: Failure) => void;
  /** The service refused a request because it was too busy itself; call `refusal` as well. */
  readonly shed: (reason: ShedReason) => void;
  /** A bound ended an upload; call `refusal` as well. */
  readonly uploadRefused: (bound: UploadBound) => void;
  readonly attempt: (routeId: string, why: { readonly reason: AttemptReason; readonly step: AttemptStep }) => void;
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
export function createMetrics(figures: ServiceFigures): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  addGauges(registry, figures);
  const counter = <Label extends string>(name: string, help: string, ...labelNames: readonly Label[]) =>
    new Counter({ name, help, registers, labelNames });
  const seconds = <Label extends string>(name: string, help: string, ...labelNames: readonly Label[]) =>
    new Histogram({ name, help, registers, buckets, labelNames });

  const requests = counter(
    'weir_requests_total',
    'Dispatched requests by how they ended.',
    ...(['model', 'outcome', 'stream'] as const),
  );
  const requestSeconds = seconds('weir_request_seconds', 'Time from request to end of answer.', 'model');
  const firstTokenSeconds = seconds('weir_first_token_seconds', 'Time from request to first output.', 'model');
  const tokens = counter('weir_tokens_total', 'Billed tokens.', 'model', 'direction');

  const refusals = counter('weir_refusals_total', 'Requests answered with an error, by code.', 'code');
  const sheds = counter('weir_shed_total', 'Requests turned away because the service itself was too busy.', 'reason');
  const uploadRefusals = counter(
    'weir_upload_refusals_total',
    'Request bodies refused, by the bound they passed.',
    'bound',
  );

  const attempts = counter(
    'weir_attempts_total',
    'Upstream attempts, by why they were made, and whether on another endpoint of the same backend or on another route.',
    ...['route', 'reason', 'step'],
  );
  const faults = counter('weir_attempt_faults_total', 'Failed upstream attempts.', 'route', 'kind');
  const implausible = counter(
    'weir_implausible_usage_total',
    'Answers whose engine counted tokens that cannot be, so that we counted.',
    'route',
  );

  const searches = counter(
    'weir_web_searches_total',
    'Searches of the web by what came of them.',
    'provider',
    'result',
  );
  const searchSeconds = seconds('weir_web_search_seconds', 'Time a search of the web took.', 'provider');

  return {
    outcome: ({ modelId: model, kind, stream, usage, durationMs, firstTokenMs }) => {
      requests.inc({ model, outcome: kind, stream: String(stream) });
      tokens.inc({ model, direction: 'prompt' }, usage.promptTokens);
      tokens.inc({ model, direction: 'completion' }, usage.completionTokens);
      requestSeconds.observe({ model }, durationMs / 1000);
      if (firstTokenMs !== undefined) firstTokenSeconds.observe({ model }, firstTokenMs / 1000);
    },
    refusal: ({ code }) => refusals.inc({ code }),
    shed: (reason) => sheds.inc({ reason }),
    uploadRefused: (bound) => uploadRefusals.inc({ bound }),
    attempt: (route, { reason, step }) => attempts.inc({ route, reason, step }),
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
