import type { Logger } from 'pino';
import type { DatabaseState, Outcome } from '../../core/account.ts';
import type { Clock } from '../../core/clock.ts';
import type { DependencyCause } from '../../core/dependency-cause.ts';
import type { AttemptEnd } from '../../gateway/core/health.ts';
import { writeAttemptLog } from '../core/attempt-log.ts';
import { endOf } from '../core/request-end.ts';
import { type FailureFacts, recordRequest, type RequestRecord } from '../core/request-record.ts';
import type { RequestProgress, Telemetry } from '../../gateway/core/telemetry.ts';
import type { RefusedRequest } from '../../core/refused-request.ts';
import type { RecentTraffic } from '../core/traffic.ts';
import type { Metrics } from './metrics.ts';
import type { PartLog } from './repeat-limit.ts';
import { createRequestLog } from './request-log.ts';

export interface TelemetryParts {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly metrics: Metrics;
  /** Measures the models. */
  readonly measured: ModelFacts;
  /** Counts recent failures. */
  readonly errors: ModelFacts & { readonly attempt: (backend: string, end: AttemptEnd) => void };
  /** Follows how much is asked of engines. */
  readonly demands: Pick<ModelFacts, 'unavailable'>;
  /** Counts refused requests in the ledger. */
  readonly refused: (request: RefusedRequest) => void;
  /** Counts the requests of the last minute. */
  readonly traffic?: Pick<RecentTraffic, 'ended'>;
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
  { clock, metrics, measured, errors, demands, refused, traffic, stories }: TelemetryParts,
): Telemetry {
  const lines = createRequestLog(log);

  function ended(record: RequestRecord): void {
    const end = endOf(record);
    metrics.ended(end);
    traffic?.ended(end);
    lines.ended(end);
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
        metrics.implausibleUsage(progress.routeId);
        lines.implausibleUsage(requestId, progress.routeId);
        return;
      case 'searched':
        metrics.searched(progress.search.provider, progress.search.result, progress.search.durationMs);
        lines.searched(requestId, progress.search);
        return;
      case 'settled':
        for (const { outcome } of [metrics, measured, errors]) outcome(progress.outcome);
        return;
      case 'ended':
        ended(record);
        stories.ended(record);
        if (record.outcome === undefined && record.failure !== undefined) refused(refusalOf(record, record.failure));
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
          lines.attempted({ requestId, routeId, reason, step });
          const watch = recorder.attempt(start);
          return {
            output: watch.output,
            movedTo: watch.movedTo,
            ended: (end, facts) => {
              watch.ended(end, facts);
              errors.attempt(backend, end);
              if (end.kind !== 'failed') return;
              metrics.fault(routeId, end.fault);
              lines.attemptFailed(requestId, routeId, end.fault);
            },
          };
        },
        attemptLog: () => writeAttemptLog(recorder.record),
      };
    },
    refused: (request, failure) => {
      const { record, progress } = recordRequest(request, clock);
      progress({ kind: 'ended', failure });
      ended(record);
    },
  };
}

function refusalOf(record: RequestRecord, { code, about, limit, reached }: FailureFacts): RefusedRequest {
  const { requestId, correlationId, workspaceId, keyId, surface, stream, startedAt, begun, overAt } = record;
  const modelId = record.modelId ?? record.modelAsked;
  return {
    ...{ requestId, correlationId, workspaceId, keyId, modelId, surface, stream, code, about, limit, reached },
    startedAt,
    durationMs: Math.max(0, Math.round((overAt ?? begun) - begun)),
  };
}

/** The parts of the store's `StoreStatus` that are logged. */
export interface LoggedStatus {
  readonly database: DatabaseState;
  readonly journalBytes: number;
  readonly journalFault: string | undefined;
  readonly hasRoom: boolean;
  readonly message?: string;
  readonly cause?: DependencyCause | undefined;
}

/** Logs when the database goes down and comes back, when the journal is full, and errors: a line per change, not per row. */
export function createStoreLog(log: PartLog): (status: LoggedStatus) => void {
  let last: LoggedStatus = { database: 'up', journalBytes: 0, journalFault: undefined, hasRoom: true };
  return (status) => {
    const { database, journalBytes, journalFault, hasRoom, message, cause } = status;
    const facts = { journalBytes, cause, error: message ?? journalFault };
    if (database !== last.database) {
      if (database === 'down') log.warn(facts, 'database unreachable: writing to the journal');
      else if (database === 'replaying') log.info(facts, 'database reachable: replaying the journal');
      else if (last.database !== 'up') log.info(facts, 'journal replayed');
    } else if (message !== undefined) log.warn(facts, 'store problem');
    if (hasRoom !== last.hasRoom) {
      if (hasRoom) log.info(facts, 'journal writable');
      else if (journalFault !== undefined) log.error(facts, 'journal write failed: refusing new requests');
      else log.error(facts, 'journal full: refusing new requests');
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
