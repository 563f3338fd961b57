import { Registry } from 'prom-client';
import type { Outcome } from '../../core/account.ts';
import type { Fault } from '../../core/event.ts';
import { causeOf } from '../../core/fault-cause.ts';
import { formatUsd } from '../../core/money.ts';
import type { RequestEnd } from '../core/request-end.ts';
import type { PickReason } from '../../core/pool-prompt.ts';
import type { AttemptReason, AttemptStep } from '../../gateway/core/telemetry.ts';
import { countersOf, type Exemplar, exemplarHistogramsOf, histogramsOf } from './declare.ts';
import { createExemplarRegistry, type ExemplarRegistry } from './exposition.ts';

/** Why an attempt was made, and why at its endpoint. */
export interface AttemptCause {
  readonly reason: AttemptReason;
  readonly step: AttemptStep;
  readonly pick: PickReason | undefined;
}

/** The counts of one model, in registries of their own, so that they are dropped as a whole and rendered separately. */
export type ModelMetrics = ReturnType<typeof createModelMetrics>;

/**
 * Buckets of the conventions for generative AI. Engines with other buckets cannot be compared.
 * https://github.com/open-telemetry/semantic-conventions-genai
 */
const durationBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const firstTokenBuckets = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const perTokenBuckets = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);

const conventional = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

function declareModelMetrics(registry: Registry, times: ExemplarRegistry) {
  const counter = countersOf(registry);
  const histogram = histogramsOf(registry);
  const time = exemplarHistogramsOf(times);
  const tokens = (what: string, help: string) =>
    counter(`gen_ai_client_inference_usage_${what}_tokens_total`, help, ...conventional);

  return {
    requests: counter(
      'weir_requests_total',
      'Requests that ended, by surface, outcome (refused: not dispatched), and error code of docs/reference/errors.md. Model and code can be empty.',
      ...(['surface', 'model', 'outcome', 'code'] as const),
    ),
    duration: time(
      'gen_ai_server_request_duration_seconds',
      'Time from request to end of answer, for dispatched requests. error_type: the outcome of an incomplete request.',
      { buckets: durationBuckets, labelNames: [...conventional, 'error_type'] },
    ),
    firstToken: time(
      'gen_ai_server_time_to_first_token_seconds',
      'Time from request to first output, for completed requests.',
      { buckets: firstTokenBuckets, labelNames: conventional },
    ),
    perToken: time(
      'gen_ai_server_time_per_output_token_seconds',
      'Mean time per output token after the first, for completed requests.',
      { buckets: perTokenBuckets, labelNames: conventional },
    ),
    usage: histogram('gen_ai_client_token_usage', 'Billed tokens of a request.', {
      buckets: tokenBuckets,
      labelNames: [...conventional, 'gen_ai_token_type'],
    }),
    input: tokens('input', 'Billed prompt tokens, including cached ones.'),
    output: tokens('output', 'Billed output tokens, including reasoning.'),
    cached: tokens('cache_read_input', 'Billed prompt tokens that engines had in their caches.'),
    reasoning: tokens('reasoning_output', 'Billed reasoning tokens.'),
    cost: counter('weir_cost_usd_total', 'Billed cost of requests, in USD.', 'model'),
    failovers: counter(
      'weir_failovers_total',
      'Requests that failed over, before any output or in mid-stream, by result.',
      ...(['model', 'phase', 'result'] as const),
    ),
    attempts: counter(
      'weir_attempts_total',
      'Engine calls, by reason, and by step: another endpoint of the same backend, or another route.',
      ...(['model', 'backend', 'reason', 'step'] as const),
    ),
    picks: counter(
      'weir_endpoint_picks_total',
      'Calls whose endpoint Weir picked by cache, queue and speed, by reason. holder: has most of the prompt cached; sooner: answers sooner than the holder; untried, least-work: no endpoint has the prompt cached; explored: had no call for long; only: the only endpoint.',
      ...(['model', 'backend', 'why'] as const),
    ),
    hedgesWon: counter(
      'weir_hedges_won_total',
      'Hedges that won. weir_attempts_total with the reason hedge counts all hedges.',
      'model',
    ),
    faults: counter('weir_attempt_faults_total', 'Failed engine calls.', 'model', 'backend', 'fault', 'cause'),
    implausible: counter(
      'weir_implausible_usage_total',
      'Answers whose engine reported impossible token counts; the service counted instead.',
      ...(['model', 'backend'] as const),
    ),
  };
}

/**
 * The metrics of one model of the catalog. `model` is empty for requests that were refused before their model was found.
 */
export function createModelMetrics(model: string) {
  const registry = new Registry();
  const times = createExemplarRegistry();
  const metrics = declareModelMetrics(registry, times);

  // A counter that exists before its first count lets Prometheus see its first step.
  if (model !== '') metrics.hedgesWon.inc({ model }, 0);

  const named = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'weir', gen_ai_request_model: model };

  function took({ kind, usage, durationMs, firstTokenMs }: Outcome, exemplarLabels: Exemplar): void {
    const isComplete = kind === 'completed';
    const labels = isComplete ? named : { ...named, error_type: kind };
    metrics.duration.observe({ labels, value: durationMs / 1000, exemplarLabels });
    if (!isComplete || firstTokenMs === undefined) return;
    metrics.firstToken.observe({ labels, value: firstTokenMs / 1000, exemplarLabels });
    if (usage.completionTokens <= 1) return;
    const value = (durationMs - firstTokenMs) / 1000 / (usage.completionTokens - 1);
    metrics.perToken.observe({ labels, value, exemplarLabels });
  }

  return {
    registry,
    /** Histograms of times, whose exemplars name requests. */
    times,
    ended: (end: RequestEnd): void => {
      const { surface, kind, code = '' } = end;
      const { beforeOutput, midStream } = end.failovers;
      metrics.requests.inc({ surface, model, outcome: kind, code });
      if (beforeOutput > 0)
        metrics.failovers.inc({ model, phase: 'before_output', result: resultOf.beforeOutput[kind] });
      // An answer that no other endpoint can continue is interrupted without a further attempt.
      if (midStream > 0 || kind === 'interrupted') {
        metrics.failovers.inc({ model, phase: 'mid_stream', result: resultOf.midStream[kind] });
      }
      if (end.outcome !== undefined) took(end.outcome, exemplarOf(end));
    },
    outcome: ({ usage, cost }: Outcome): void => {
      metrics.usage.observe({ ...named, gen_ai_token_type: 'input' }, usage.promptTokens);
      metrics.usage.observe({ ...named, gen_ai_token_type: 'output' }, usage.completionTokens);
      metrics.input.inc(named, usage.promptTokens);
      metrics.output.inc(named, usage.completionTokens);
      if (usage.cachedTokens !== undefined) metrics.cached.inc(named, usage.cachedTokens);
      if (usage.reasoningTokens !== undefined) metrics.reasoning.inc(named, usage.reasoningTokens);
      metrics.cost.inc({ model }, Number(formatUsd(cost)));
    },
    attempt: (backend: string, { reason, step, pick }: AttemptCause): void => {
      metrics.attempts.inc({ model, backend, reason, step });
      if (pick !== undefined) metrics.picks.inc({ model, backend, why: pick });
    },
    won: (reason: AttemptReason): void => {
      if (reason === 'hedge') metrics.hedgesWon.inc({ model });
    },
    fault: (backend: string, fault: Fault): void =>
      metrics.faults.inc({ model, backend, fault: fault.kind, cause: causeOf(fault) }),
    implausibleUsage: (backend: string): void => metrics.implausible.inc({ model, backend }),
  };
}

function exemplarOf({ requestId, traceId }: RequestEnd): Exemplar {
  return traceId === undefined ? { request_id: requestId } : { request_id: requestId, trace_id: traceId };
}

type FailoverResult = 'recovered' | 'failed' | 'left';

/** The result of a failover. `left`: the connection to the caller had ended. */
const resultOf: Readonly<Record<'beforeOutput' | 'midStream', Readonly<Record<RequestEnd['kind'], FailoverResult>>>> = {
  // If an answer broke off after the failover, the failover before its output had succeeded.
  beforeOutput: {
    completed: 'recovered',
    interrupted: 'recovered',
    cancelled: 'left',
    'service-lost': 'left',
    incomplete: 'failed',
    failed: 'failed',
    refused: 'failed',
  },
  midStream: {
    completed: 'recovered',
    interrupted: 'failed',
    cancelled: 'left',
    'service-lost': 'left',
    incomplete: 'failed',
    failed: 'failed',
    refused: 'failed',
  },
};
