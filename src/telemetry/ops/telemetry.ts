import type { Logger } from 'pino';
import type { DatabaseState, Outcome } from '../../core/account.ts';
import type { Clock } from '../../core/clock.ts';
import type { Fault } from '../../core/event.ts';
import type { AttemptEnd } from '../../gateway/core/health.ts';
import { endOf, type RequestEnd } from '../core/request-end.ts';
import { recordRequest, type RequestRecord } from '../core/request-record.ts';
import type { RequestProgress, SearchRecord, Telemetry } from '../../gateway/core/telemetry.ts';
import type { Metrics } from './metrics.ts';
import { formatUsd } from '../../core/money.ts';
import { createRepeatLimit, type PartLog } from './repeat-limit.ts';

export interface TelemetryParts {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly metrics: Metrics;
  /** Measures the models. */
  readonly measured: ModelFacts;
  /** Counts recent failures. */
  readonly errors: ModelFacts & { readonly attempt: (backend: string, end: AttemptEnd) => void };
  /** Follows how much is asked of engines. */
  readonly demands: Pick<ModelFacts, 'unavailable'>;
  /** Remembers the records of the requests that ask for an answer. */
  readonly stories: {
    readonly began: (record: RequestRecord) => void;
    readonly ended: (record: RequestRecord) => void;
  };
}

/** Receives the settled requests of models, and the requests that were refused because no route of a model had room. */
interface ModelFacts {
  readonly outcome: (outcome: Outcome) => void;
  readonly unavailable: (modelId: string) => void;
}

/**
 * Reports requests to operators: in metrics, in the log, in the figures of models, and in stories and spans. Each
 * request has one record. Code that needs several facts of a request reads them there.
 */
export function createTelemetry(
  log: Logger,
  { clock, metrics, measured, errors, demands, stories }: TelemetryParts,
): Telemetry {
  /** How often each route's engine has reported impossible token counts. */
  const implausible = new Map<string, number>();
  const repeats = createRepeatLimit({ now: () => performance.now() });

  function attemptFailed(requestId: string, routeId: string, fault: Fault): void {
    metrics.fault(routeId, fault);
    const { kind, detail, status, engineError } = fault;
    // The operator has to act on a request that our validation should have refused, and on a problem of the account.
    const level =
      engineError === 'bad-request' || engineError === 'account' || engineError === 'not-found' ? 'error' : 'warn';
    const { isLogged, suppressed } = repeats.take(`${routeId} ${kind}`);
    if (isLogged) {
      log[level]({ requestId, routeId, fault: kind, detail, status, engineError, suppressed }, 'attempt failed');
    }
  }

  function countedWrong(requestId: string, routeId: string): void {
    metrics.implausibleUsage(routeId);
    const times = (implausible.get(routeId) ?? 0) + 1;
    implausible.set(routeId, times);
    // An engine that counts wrong does so in each answer, so only the first, the tenth, the hundredth … are logged.
    if (/^10*$/.test(String(times))) {
      log.warn({ requestId, routeId, times }, 'the engine counts tokens that cannot be');
    }
  }

  function searched(requestId: string, { provider, result, durationMs, detail }: SearchRecord): void {
    metrics.searched(provider, result, durationMs);
    const facts = { requestId, provider, result, durationMs, detail };
    if (result !== 'unavailable') {
      log.debug(facts, 'web search');
      return;
    }
    // While a provider is down, every search fails, so the log lines are limited.
    const { isLogged, suppressed } = repeats.take(`search ${provider}`);
    if (isLogged) log.warn({ ...facts, suppressed }, 'web search');
  }

  function settled(outcome: Outcome): void {
    metrics.outcome(outcome);
    measured.outcome(outcome);
    errors.outcome(outcome);
  }

  function ended(end: RequestEnd): void {
    metrics.ended(end);
    const level = levelOf(end);
    if (!log.isLevelEnabled(level)) return;
    const { kind, code } = end;
    // Each dispatched request has its line. A flood of refusals must not become a flood of lines.
    const repeat = kind === 'refused' ? repeats.take(`refused ${code}`) : { isLogged: true, suppressed: undefined };
    if (repeat.isLogged) log[level]({ ...lineOf(end), suppressed: repeat.suppressed }, 'request ended');
  }

  /** Reports a step of a request. The record contains the step already. */
  function report(record: RequestRecord, progress: RequestProgress): void {
    const { requestId, modelId } = record;
    switch (progress.kind) {
      case 'unavailable':
        if (modelId === undefined) return;
        measured.unavailable(modelId);
        errors.unavailable(modelId);
        demands.unavailable(modelId);
        return;
      case 'won':
        metrics.won(progress.routeId, progress.reason);
        return;
      case 'implausible-usage':
        countedWrong(requestId, progress.routeId);
        return;
      case 'searched':
        searched(requestId, progress.search);
        return;
      case 'settled':
        settled(progress.outcome);
        return;
      case 'ended':
        ended(endOf(record));
        stories.ended(record);
        return;
      case 'authenticated':
      case 'admitted':
      case 'arrived':
      case 'read':
      case 'ranked':
      case 'route-picked':
      case 'dispatched':
      case 'answered':
      case 'recorded':
        return;
    }
  }

  return {
    begin: (request) => {
      const { requestId } = request;
      const recorder = recordRequest(request, clock);
      stories.began(recorder.record);
      return {
        progress: (progress) => {
          recorder.progress(progress);
          report(recorder.record, progress);
        },
        attempt: (start) => {
          const { routeId, backend, reason, step, picked } = start;
          metrics.attempt(routeId, { reason, step, pick: picked?.why });
          if (reason !== 'first') log.debug({ requestId, routeId, reason, step }, 'another attempt');
          const watch = recorder.attempt(start);
          return {
            output: watch.output,
            movedTo: watch.movedTo,
            ended: (end, facts) => {
              watch.ended(end, facts);
              errors.attempt(backend, end);
              if (end.kind === 'failed') attemptFailed(requestId, routeId, end.fault);
            },
          };
        },
      };
    },
    refused: (request, failure) => {
      const { record, progress } = recordRequest(request, clock);
      progress({ kind: 'ended', failure });
      ended(endOf(record));
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
  modelId,
  kind,
  code,
  failure,
  durationMs,
  outcome,
}: RequestEnd) {
  return {
    ...{ requestId, correlationId, traceId, surface, modelId, kind, code },
    limit: failure?.limit,
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

/** The parts of the store's `StoreStatus` that are logged. */
export interface LoggedStatus {
  readonly database: DatabaseState;
  readonly journalBytes: number;
  readonly journalFault: string | undefined;
  readonly hasRoom: boolean;
  readonly message?: string;
}

/** Logs when the database goes down and comes back, when the journal is full, and errors: a line per change, not per row. */
export function createStoreLog(log: PartLog): (status: LoggedStatus) => void {
  let last: LoggedStatus = { database: 'up', journalBytes: 0, journalFault: undefined, hasRoom: true };
  return (status) => {
    const { database, journalBytes, journalFault, hasRoom, message } = status;
    const facts = { journalBytes, error: message ?? journalFault };
    if (database !== last.database) {
      if (database === 'down') log.warn(facts, 'the database is away: rows go to the journal');
      else if (database === 'replaying') log.info(facts, 'the database is back: settling the rows of the journal');
      else if (last.database !== 'up') log.info(facts, 'the database has every row');
    } else if (message !== undefined) log.warn(facts, 'store problem');
    if (hasRoom !== last.hasRoom) {
      if (hasRoom) log.info(facts, 'the journal has room again');
      else if (journalFault !== undefined) log.error(facts, 'the journal cannot be written: new requests are refused');
      else log.error(facts, 'the journal is full: new requests are refused');
    }
    last = status;
  };
}

/**
 * Logs problems of one sort. Call the result each time with all current problems: it logs one line when a problem
 * appears, and none while it stays.
 */
export function createProblemLog(log: Pick<PartLog, 'warn'>, message: string): (problems: readonly object[]) => void {
  let known: ReadonlySet<string> = new Set();
  return (problems) => {
    const now = new Map(problems.map((problem) => [JSON.stringify(problem), problem]));
    for (const [text, problem] of now) if (!known.has(text)) log.warn(problem, message);
    known = new Set(now.keys());
  };
}
