import type { Outcome } from './account.ts';
import type { OutcomeKind } from './settled-request.ts';
import type { EngineName } from './engine-name.ts';
import type { Surface } from './dialect.ts';
import type { FinishReason } from './event.ts';
import type { Failure, FailureCode } from './failure.ts';
import type { AttemptEnd } from './health.ts';
import type { Usage } from './money.ts';
import type { Ranking } from './plan.ts';
import type { RequestTrace } from './trace.ts';
import type { SearchError } from './web-search.ts';

/** Why an attempt is made. `resume`: to go on with an answer that broke off elsewhere. */
export const attemptReasons = ['first', 'failover', 'hedge', 'resume'] as const;
export type AttemptReason = (typeof attemptReasons)[number];

/** Where an attempt is made, seen from the attempt before: on another endpoint of the same backend, or on another route. */
export const attemptSteps = ['first', 'endpoint', 'route'] as const;
export type AttemptStep = (typeof attemptSteps)[number];

/** An attempt whose call goes out next. */
export interface AttemptStart {
  readonly routeId: string;
  /** Name of the backend. */
  readonly backend: string;
  readonly engine: EngineName;
  /** The model's name there. */
  readonly upstreamModel: string;
  /** `Endpoint.name`. */
  readonly endpoint: string;
  readonly reason: AttemptReason;
  readonly step: AttemptStep;
  /** Of its span. Undefined: the request is not traced. */
  readonly spanId: string | undefined;
}

/** What an engine has said of its answer, as far as the answer has come. */
export interface AnswerFacts {
  /** What the answer calls its model. */
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
  /** One entry per ended choice, in the order of their ends. */
  readonly finishReasons: readonly FinishReason[];
}

/** Watches one attempt. Not called for each chunk. */
export interface AttemptWatch {
  /** Goes with the call: the span of the attempt, as W3C `traceparent`. Absent: tracing is off. */
  readonly traceparent?: string | undefined;
  /** The first output has come: of an answer that does not stream, a part of it. Further calls are harmless. */
  readonly output: () => void;
  /** Another endpoint answers, by its name. */
  readonly movedTo: (endpoint: string) => void;
  /** The first call counts. `facts`: undefined where there is no answer. */
  readonly ended: (end: AttemptEnd, facts: AnswerFacts | undefined) => void;
}

/** How far a request has come on its way. */
type RequestProgress =
  /** Its key is known. */
  | { readonly kind: 'authenticated'; readonly workspaceId: string; readonly keyId: string }
  /** Limits, balance and budget let it pass. */
  | { readonly kind: 'admitted' }
  /** Its whole body has arrived. */
  | { readonly kind: 'arrived' }
  /** Its body has been read. `modelId`: the model, if the catalog has it. */
  | { readonly kind: 'read'; readonly modelId: string | undefined; readonly stream: boolean }
  | { readonly kind: 'ranked'; readonly ranking: Ranking }
  /** Its cost is reserved, and the first attempt is made next. */
  | { readonly kind: 'dispatched' }
  /** The engines have said their last word. */
  | { readonly kind: 'answered' }
  /** Its row in the ledger is durable. */
  | { readonly kind: 'recorded' };

/** How one search of the web went. */
export interface SearchRecord {
  readonly provider: string;
  readonly result: 'found' | SearchError;
  readonly durationMs: number;
  /** What went wrong, safe to log. */
  readonly detail?: string;
  /** Of its span. Undefined: the request is not traced. */
  readonly spanId: string | undefined;
}

/** How a request ended, as its caller saw it. Reported once for each request for an answer, and for each other refused request. */
export interface RequestEnd {
  readonly requestId: string;
  /** The caller's or Envoy's `x-request-id`; empty where it is too long or not plain. */
  readonly correlationId: string;
  /** Of the trace that it is recorded in. Undefined: in none. */
  readonly traceId: string | undefined;
  readonly surface: Surface;
  /** A model of the catalog. Undefined: the request ended before its model was found there. */
  readonly modelId: string | undefined;
  /** `refused`: nothing was dispatched. */
  readonly kind: OutcomeKind | 'refused';
  /** The error that the caller got. Undefined: no error. */
  readonly code: FailureCode | undefined;
  /** The failure behind `code`, for its cause and its blame. */
  readonly failure: Failure | undefined;
  readonly durationMs: number;
  /** Undefined: nothing was settled. */
  readonly outcome: Outcome | undefined;
  /** The service's own share of the time, milliseconds, not rounded. Undefined: the request was not completed. */
  readonly added: AddedLatency | undefined;
  /** Attempts that replaced one which had failed: before any output, and to go on with an answer that broke off. */
  readonly failovers: { readonly beforeOutput: number; readonly midStream: number };
}

/** What the service adds to the time of a completed request. */
export interface AddedLatency {
  /** From the head of the request to the first call of an engine, without the wait for the caller's body. */
  readonly beforeMs: number;
  /** From the last word of the engine to the last word of the service: the settlement is in it. */
  readonly afterMs: number;
}

/** A request for an answer that has come. */
interface BegunRequest {
  readonly surface: Surface;
  readonly correlationId: string;
  /** Wall clock, milliseconds. */
  readonly startedAt: number;
  /** Undefined: tracing is off. */
  readonly trace: RequestTrace | undefined;
}

/** Receives the facts about requests: counts, ids, names and times. No field can carry content. */
export interface Telemetry {
  /** A request for an answer has come. `over` follows once nothing more happens to it. */
  readonly began: (requestId: string, request: BegunRequest) => void;
  readonly progress: (requestId: string, progress: RequestProgress) => void;
  readonly over: (requestId: string) => void;
  /** A request that was dispatched has ended. */
  readonly outcome: (outcome: Outcome) => void;
  /** A request has ended, dispatched or not. */
  readonly ended: (end: RequestEnd) => void;
  /** A request was refused because no route of its model had room. */
  readonly unavailable: (modelId: string) => void;
  /** An attempt is made, why and where. The result receives its progress. */
  readonly attempt: (requestId: string, start: AttemptStart) => AttemptWatch;
  /** The answer is that of this attempt from now on. */
  readonly won: (requestId: string, routeId: string, reason: AttemptReason) => void;
  /** An engine reported impossible counts, so the service counted in its place. */
  readonly implausibleUsage: (requestId: string, routeId: string) => void;
  /** The web was searched. */
  readonly searched: (requestId: string, search: SearchRecord) => void;
}
