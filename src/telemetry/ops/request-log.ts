import type { Logger } from 'pino';
import type { EngineError, Fault } from '../../core/event.ts';
import { causeOf } from '../../core/fault-cause.ts';
import { formatUsd } from '../../core/money.ts';
import type { AttemptReason, AttemptStep, SearchRecord } from '../../gateway/core/telemetry.ts';
import type { RequestEnd } from '../core/request-end.ts';
import { createRepeatLimit } from './repeat-limit.ts';

interface AttemptLine {
  readonly requestId: string;
  readonly routeId: string;
  readonly reason: AttemptReason;
  readonly step: AttemptStep;
}

/** Errors of engines that an operator has to end. */
const forOperators: ReadonlySet<EngineError> = new Set(['bad-request', 'account', 'not-found', 'misconfigured']);

/** The log lines of requests. Lines that one cause repeats are limited, and the next one has the number of those left out. */
export function createRequestLog(log: Logger) {
  /** How often each route's engine has reported impossible token counts. */
  const implausible = new Map<string, number>();
  const repeats = createRepeatLimit({ now: () => performance.now() });

  return {
    attempted: (attempt: AttemptLine): void => {
      if (attempt.reason !== 'first') log.debug(attempt, 'retry');
    },
    attemptFailed: (requestId: string, routeId: string, fault: Fault): void => {
      const { kind, detail, status, engineError, said } = fault;
      const cause = causeOf(fault);
      // The operator has to act on a request that our validation should have refused, and on a problem of the account.
      const level = engineError !== undefined && forOperators.has(engineError) ? 'error' : 'warn';
      const { isLogged, suppressed } = repeats.take(`${routeId} ${cause}`);
      if (isLogged) {
        log[level](
          { requestId, routeId, fault: kind, cause, detail, status, engineError, said, suppressed },
          'attempt failed',
        );
      }
    },
    implausibleUsage: (requestId: string, routeId: string): void => {
      const times = (implausible.get(routeId) ?? 0) + 1;
      implausible.set(routeId, times);
      // An engine that counts wrong does so in each answer, so only the first, the tenth, the hundredth … are logged.
      if (/^10*$/.test(String(times))) {
        log.warn({ requestId, routeId, times }, 'engine token count implausible');
      }
    },
    searched: (requestId: string, { provider, result, durationMs, detail }: SearchRecord): void => {
      const facts = { requestId, provider, result, durationMs, detail };
      if (result !== 'unavailable') {
        log.debug(facts, 'web search');
        return;
      }
      // While a provider is down, every search fails, so the log lines are limited.
      const { isLogged, suppressed } = repeats.take(`search ${provider}`);
      if (isLogged) log.warn({ ...facts, suppressed }, 'web search');
    },
    ended: (end: RequestEnd): void => {
      const level = levelOf(end);
      if (!log.isLevelEnabled(level)) return;
      const { kind, code } = end;
      // Each dispatched request has its line. A flood of refusals must not become a flood of lines.
      const repeat = kind === 'refused' ? repeats.take(`refused ${code}`) : { isLogged: true, suppressed: undefined };
      if (repeat.isLogged) log[level]({ ...lineOf(end), suppressed: repeat.suppressed }, 'request ended');
    },
  };
}

/** Refusals under load, which are not errors of the service. */
const dueToLoad: ReadonlySet<RequestEnd['code']> = new Set(['no_capacity', 'overloaded']);

function levelOf({ kind, code, failure }: RequestEnd): 'info' | 'warn' | 'error' {
  if (failure?.row.blame === 'service' && !dueToLoad.has(code)) return 'error';
  switch (kind) {
    case 'completed':
    case 'cancelled':
    case 'refused':
      return 'info';
    case 'interrupted':
    case 'incomplete':
    case 'failed':
    case 'service-lost':
      return 'warn';
  }
}

/** The log line of a request: ids, names, counts and times, never content. */
function lineOf({
  requestId,
  correlationId,
  traceId,
  surface,
  workspaceId,
  keyId,
  modelId,
  kind,
  code,
  failure,
  durationMs,
  outcome,
  wouldRefuse,
}: RequestEnd) {
  return {
    ...{ requestId, correlationId, traceId, surface, workspaceId, keyId, modelId, kind, code },
    limit: failure?.limit,
    wouldRefuse: wouldRefuse.length === 0 ? undefined : wouldRefuse,
    cause: failure?.causeName,
    durationMs: Math.round(durationMs),
    stream: outcome?.stream,
    routeId: outcome?.routeId,
    attempts: outcome?.attempts,
    routes: outcome?.routes,
    firstTokenMs: outcome?.firstTokenMs,
    usage: outcome?.usage,
    costUsd: outcome && formatUsd(outcome.cost),
    refusedFor: outcome?.refusedFor,
  };
}
