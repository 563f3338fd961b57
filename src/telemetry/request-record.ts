import type { Outcome } from '../core/account.ts';
import type { Surface } from '../core/dialect.ts';
import type { Fault } from '../core/event.ts';
import type { Failure } from '../core/failure.ts';
import type { AttemptEnd } from '../core/health.ts';
import type { Ranking } from '../core/plan.ts';
import type { AnswerFacts, AttemptStart, SearchRecord } from '../core/telemetry.ts';
import type { RequestTrace } from '../core/trace.ts';

/** Most attempts, searches and routes that are stored of one request. */
export const mostEntries = 24;

/** The record of a request: names, counts and moments. It keeps no body and no snapshot alive. */
export interface RequestRecord {
  readonly requestId: string;
  readonly surface: Surface;
  readonly correlationId: string;
  /** Wall clock and monotonic, milliseconds. */
  readonly startedAt: number;
  readonly begun: number;
  /** Undefined: tracing is off. */
  readonly trace: RequestTrace | undefined;
  /** 0 until the request is over. */
  seq: number;
  workspaceId: string | undefined;
  keyId: string | undefined;
  modelId: string | undefined;
  stream: boolean | undefined;
  /** Monotonic moments; undefined: the request has not reached that point. */
  admittedAt: number | undefined;
  arrivedAt: number | undefined;
  readAt: number | undefined;
  dispatchedAt: number | undefined;
  answeredAt: number | undefined;
  settledAt: number | undefined;
  recordedAt: number | undefined;
  overAt: number | undefined;
  ranking: Ranking | undefined;
  /** The first `mostEntries` of them. */
  readonly attempts: AttemptNote[];
  attemptCount: number;
  readonly searches: SearchNote[];
  outcome: Outcome | undefined;
  failure: Pick<Failure, 'code' | 'row' | 'about'> | undefined;
}

/** An attempt, with monotonic moments. */
export interface AttemptNote extends AttemptStart {
  endpoint: string;
  readonly beganAt: number;
  outputAt: number | undefined;
  endedAt: number | undefined;
  end: AttemptEnd['kind'] | undefined;
  /** Only the classification: no text of an engine. */
  fault:
    | (Pick<Fault, 'kind' | 'status' | 'engineError' | 'about'> & {
        /** Envoy's response flags. */ readonly flags: string | undefined;
      })
    | undefined;
  facts: AnswerFacts | undefined;
}

export interface SearchNote extends Pick<SearchRecord, 'provider' | 'result' | 'durationMs' | 'spanId'> {
  readonly endedAt: number;
}
