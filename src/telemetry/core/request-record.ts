import type { Outcome } from '../../core/account.ts';
import type { Cause } from '../../core/cause.ts';
import type { Clock } from '../../core/clock.ts';
import type { LimitName } from '../../core/limits.ts';
import type { Fault } from '../../core/event.ts';
import type { Failure } from '../../core/failure.ts';
import { causeOf, envoyFlags } from '../../core/fault-cause.ts';
import type { AttemptEnd } from '../../gateway/core/health.ts';
import type { Ranking } from '../../gateway/core/plan.ts';
import type {
  AnswerFacts,
  AttemptReason,
  AttemptStart,
  AttemptWatch,
  BegunRequest,
  RequestProgress,
  SearchRecord,
} from '../../gateway/core/telemetry.ts';

/** Most attempts, searches and routes that the record of one request has. */
const maxEntries = 24;

/**
 * The one record of a request: names, counts and moments. Its story, its spans, its metrics and its log line are made of
 * it. It keeps no body, no snapshot and no thrown error alive. Moments are monotonic milliseconds; `undefined`: the
 * request has not reached that point.
 */
export interface RequestRecord extends BegunRequest {
  readonly workspaceId: string | undefined;
  readonly keyId: string | undefined;
  readonly modelId: string | undefined;
  /** The name that the caller gave, if no model of the catalog has it, and if it is plain. */
  readonly modelAsked: string | undefined;
  readonly stream: boolean | undefined;
  /** The wait for the body of the request, milliseconds. */
  readonly bodyMs: number;
  readonly admittedAt: number | undefined;
  readonly arrivedAt: number | undefined;
  readonly readAt: number | undefined;
  readonly dispatchedAt: number | undefined;
  /** Limits that would have refused it, if they were enforced. */
  readonly wouldRefuse: readonly LimitName[];
  readonly answeredAt: number | undefined;
  readonly settledAt: number | undefined;
  readonly recordedAt: number | undefined;
  readonly overAt: number | undefined;
  /** At most `maxEntries` routes of each kind. */
  readonly ranking: Ranking | undefined;
  /** No route of its model had room. */
  readonly isUnavailable: boolean;
  /** The first `maxEntries` of them. */
  readonly attempts: readonly AttemptNote[];
  readonly attemptCount: number;
  readonly failovers: Failovers;
  /** The first `maxEntries` of them. */
  readonly searches: readonly SearchNote[];
  /** Set when the request is settled. Its row in the ledger is durable at `recordedAt`. */
  readonly outcome: Outcome | undefined;
  readonly failure: FailureFacts | undefined;
}

/** Attempts that replaced a failed one: before any output, and to continue an answer that broke off. */
export interface Failovers {
  readonly beforeOutput: number;
  readonly midStream: number;
}

/** An attempt, with monotonic moments. */
export interface AttemptNote extends AttemptStart {
  readonly beganAt: number;
  readonly outputAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly end: AttemptEnd['kind'] | undefined;
  readonly fault: FaultFacts | undefined;
  readonly facts: AnswerFacts | undefined;
}

/** The classification of a fault. Its only text of an engine is `said`. */
export type FaultFacts = Pick<Fault, 'kind' | 'status' | 'engineError' | 'about' | 'said'> & {
  readonly cause: Cause;
  /** Envoy's response flags. */
  readonly flags: string | undefined;
};

/** A search, with the monotonic moment of its end. */
export interface SearchNote extends Pick<SearchRecord, 'provider' | 'result' | 'durationMs' | 'spanId'> {
  readonly endedAt: number;
}

/** The classification of a failure, without its message, which may repeat what the caller wrote. */
export type FailureFacts = Pick<Failure, 'code' | 'row' | 'about' | 'limit' | 'reached'> & {
  /** Class of the error behind the failure. The text of that error may have content. */
  readonly causeName: string | undefined;
};

type Writable<Type> = { -readonly [Field in keyof Type]: Type[Field] };

/** A record that is still written. Only this file writes it. */
type OpenRecord = Writable<Omit<RequestRecord, 'attempts' | 'searches' | 'failovers'>> & {
  readonly attempts: Writable<AttemptNote>[];
  readonly searches: SearchNote[];
  readonly failovers: Writable<Failovers>;
};

/** Writes the record of one request. */
export type RequestRecorder = ReturnType<typeof recordRequest>;

/** Begins the record of a request. */
export function recordRequest(request: BegunRequest, clock: Pick<Clock, 'elapsed'>) {
  const { requestId, correlationId, surface, address, trace, startedAt, begun } = request;
  const record: OpenRecord = {
    // Field by field, because `request` may be part of a larger object, which must not stay in memory.
    requestId,
    correlationId,
    surface,
    address,
    trace,
    startedAt,
    begun,
    workspaceId: undefined,
    keyId: undefined,
    modelId: undefined,
    modelAsked: undefined,
    stream: undefined,
    bodyMs: 0,
    admittedAt: undefined,
    arrivedAt: undefined,
    readAt: undefined,
    dispatchedAt: undefined,
    wouldRefuse: [],
    answeredAt: undefined,
    settledAt: undefined,
    recordedAt: undefined,
    overAt: undefined,
    ...{
      ranking: undefined,
      isUnavailable: false,
      attempts: [],
      attemptCount: 0,
      failovers: { beforeOutput: 0, midStream: 0 },
    },
    searches: [],
    outcome: undefined,
    failure: undefined,
  };
  return {
    record,
    progress: (progress: RequestProgress): void => advance(record, progress, clock.elapsed()),
    /** Records an attempt. The returned watch records its progress. */
    attempt: (start: AttemptStart): AttemptWatch => beginAttempt(record, start, clock),
  };
}

/** Records the progress of a request. */
function advance(record: OpenRecord, progress: RequestProgress, now: number): void {
  switch (progress.kind) {
    case 'authenticated':
      record.workspaceId = progress.workspaceId;
      record.keyId = progress.keyId;
      return;
    case 'admitted':
      record.admittedAt = now;
      return;
    case 'arrived':
      record.arrivedAt = now;
      record.bodyMs = progress.waitedMs;
      return;
    case 'read':
      record.readAt = now;
      record.modelId = progress.modelId;
      record.modelAsked = progress.asked;
      record.stream = progress.stream;
      return;
    case 'ranked':
      record.ranking = cut(progress.ranking);
      return;
    case 'route-picked':
      record.ranking = record.ranking && withFirst(record.ranking, progress.routeId);
      return;
    case 'unavailable':
      record.isUnavailable = true;
      return;
    case 'dispatched':
      record.dispatchedAt = now;
      record.wouldRefuse = progress.wouldRefuse ?? [];
      return;
    case 'searched': {
      const { provider, result, durationMs, spanId } = progress.search;
      if (record.searches.length >= maxEntries) return;
      record.searches.push({ provider, result, durationMs, spanId, endedAt: now });
      return;
    }
    case 'answered':
      record.answeredAt = now;
      return;
    case 'settled':
      record.outcome = progress.outcome;
      record.settledAt = now;
      return;
    case 'recorded':
      record.recordedAt = now;
      return;
    case 'ended':
      record.failure = progress.failure && failureFacts(progress.failure);
      record.overAt = now;
      return;
    case 'won':
    case 'implausible-usage':
      return;
  }
}

/** The facts of a failure that a record may keep. */
export function failureFacts({ code, row, about, limit, reached, cause }: Failure): FailureFacts {
  return { code, row, about, limit, reached, causeName: cause instanceof Error ? cause.name : undefined };
}

/** Shortens a ranking, because a model may have any number of routes. */
function withFirst(ranking: Ranking, routeId: string): Ranking {
  const { first, routes } = ranking;
  return {
    ...ranking,
    first: first === 'standby' ? first : 'soonest',
    routes: routes.toSorted((a, b) => Number(b.routeId === routeId) - Number(a.routeId === routeId)),
  };
}

function cut(ranking: Ranking): Ranking {
  const { first, routes, leftOut } = ranking;
  if (routes.length <= maxEntries && leftOut.length <= maxEntries) return ranking;
  return { first, routes: routes.slice(0, maxEntries), leftOut: leftOut.slice(0, maxEntries) };
}

/** The watch of an attempt beyond the first `maxEntries`. */
const unwatched: AttemptWatch = { output: () => undefined, movedTo: () => undefined, ended: () => undefined };

function beginAttempt(record: OpenRecord, start: AttemptStart, clock: Pick<Clock, 'elapsed'>): AttemptWatch {
  record.attemptCount += 1;
  countFailover(record.failovers, start.reason);
  if (record.attempts.length >= maxEntries) return unwatched;
  const note: Writable<AttemptNote> = {
    ...start,
    beganAt: clock.elapsed(),
    outputAt: undefined,
    endedAt: undefined,
    end: undefined,
    fault: undefined,
    facts: undefined,
  };
  record.attempts.push(note);
  return watchOf(note, clock);
}

/** After an answer has broken off, each further attempt is made to continue it. */
function countFailover(failovers: Writable<Failovers>, reason: AttemptReason): void {
  if (reason === 'resume' || (reason === 'failover' && failovers.midStream > 0)) failovers.midStream += 1;
  else if (reason === 'failover') failovers.beforeOutput += 1;
}

function watchOf(note: Writable<AttemptNote>, clock: Pick<Clock, 'elapsed'>): AttemptWatch {
  return {
    output: () => {
      note.outputAt ??= clock.elapsed();
    },
    movedTo: (endpoint) => {
      note.endpoint = endpoint;
    },
    ended: (end, facts) => {
      if (note.endedAt !== undefined) return;
      note.endedAt = clock.elapsed();
      note.end = end.kind;
      note.facts = facts;
      if (end.kind !== 'failed') return;
      const { kind, status, engineError, about, said, detail } = end.fault;
      note.fault = {
        kind,
        status,
        ...(engineError && { engineError }),
        about,
        said,
        cause: causeOf(end.fault),
        flags: envoyFlags.exec(detail)?.[1],
      };
    },
  };
}
