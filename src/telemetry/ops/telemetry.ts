import type { Logger } from 'pino';
import type { Failure } from '../../core/failure.ts';
import type { Telemetry } from '../../core/telemetry.ts';
import type { Metrics } from './metrics.ts';

/** Refusals that say how busy we are, and not what is wrong: a flood of them must not become a flood of lines. */
const usual: ReadonlySet<Failure['code']> = new Set(['no_capacity', 'overloaded']);

/** Tells operators about requests, in metrics and in the log, and hands what measures models its share. */
export function createTelemetry(
  log: Logger,
  { metrics, measured }: { readonly metrics: Metrics; readonly measured: Pick<Telemetry, 'outcome' | 'unavailable'> },
): Telemetry {
  /** How often each route has counted what cannot be. */
  const implausible = new Map<string, number>();
  return {
    unavailable: measured.unavailable,
    outcome: (outcome) => {
      metrics.outcome(outcome);
      measured.outcome(outcome);
      const { requestId, correlationId, modelId, routeId, kind, attempts, durationMs, firstTokenMs, refusedFor } =
        outcome;
      const level = kind === 'completed' || kind === 'cancelled' ? 'debug' : 'warn';
      log[level](
        { requestId, correlationId, modelId, routeId, kind, attempts, durationMs, firstTokenMs, refusedFor },
        'request ended',
      );
    },
    refusal: (requestId, failure) => {
      metrics.refusal(failure);
      if (failure.row.blame !== 'service') return;
      // Only the name of an unknown error's class: its text may hold what a caller wrote.
      const cause = failure.cause instanceof Error ? failure.cause.name : undefined;
      const level = usual.has(failure.code) ? 'debug' : 'error';
      log[level]({ requestId, code: failure.code, cause }, 'request failed');
    },
    attempt: (requestId, routeId, reason) => {
      metrics.attempt(routeId, reason);
      if (reason !== 'first') log.debug({ requestId, routeId, reason }, 'another attempt');
    },
    implausibleUsage: (requestId, routeId) => {
      metrics.implausibleUsage(routeId);
      const times = (implausible.get(routeId) ?? 0) + 1;
      implausible.set(routeId, times);
      // An engine that counts wrong does so in every answer: the first is told, the tenth, the hundredth.
      if (/^10*$/.test(String(times))) {
        log.warn({ requestId, routeId, times }, 'the engine counts tokens that cannot be');
      }
    },
    searched: (requestId, { provider, result, durationMs, detail }) => {
      metrics.searched(provider, result, durationMs);
      const level = result === 'unavailable' ? 'warn' : 'debug';
      log[level]({ requestId, provider, result, durationMs, detail }, 'web search');
    },
    fault: (requestId, routeId, fault) => {
      metrics.fault(routeId, fault);
      const { kind, detail, status, engineError } = fault;
      // What our validation should have caught, and what the operator's account lacks, do not pass by themselves.
      const level =
        engineError === 'bad-request' || engineError === 'account' || engineError === 'not-found' ? 'error' : 'warn';
      log[level]({ requestId, routeId, fault: kind, detail, status, engineError }, 'attempt failed');
    },
  };
}
