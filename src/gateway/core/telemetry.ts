import type { Outcome } from '../../core/account.ts';
import type { EngineName } from '../../core/engine-name.ts';
import type { Surface } from '../../core/dialect.ts';
import type { FinishReason } from '../../core/event.ts';
import type { Failure } from '../../core/failure.ts';
import type { LimitName } from '../../core/limits.ts';
import type { AttemptEnd } from './health.ts';
import type { Usage } from '../../core/money.ts';
import type { Ranking } from './plan.ts';
import type { EndpointPick } from '../../core/pool-prompt.ts';
import type { RequestTrace } from '../../core/trace.ts';
import type { SearchError } from '../../core/web-search.ts';

/** Why an attempt is made. `resume`: to continue an answer that broke off on another endpoint. */
export const attemptReasons = ['first', 'failover', 'hedge', 'resume'] as const;
export type AttemptReason = (typeof attemptReasons)[number];

/** Where an attempt is made, compared with the last one: on another endpoint of the same backend, or on another route. */
export const attemptSteps = ['first', 'endpoint', 'route'] as const;
export type AttemptStep = (typeof attemptSteps)[number];

/** An attempt whose call goes out next. */
export interface AttemptStart {
  readonly routeId: string;
  readonly backend: string;
  readonly engine: EngineName;
  /** The model's name there. */
  readonly upstreamModel: string;
  /** `Endpoint.name`. */
  readonly endpoint: string;
  readonly reason: AttemptReason;
  readonly step: AttemptStep;
  /** Why the endpoint was picked. Undefined: not by its cache, queue and speed. */
  readonly picked: EndpointPick | undefined;
  /** Id of its span. Undefined: the request is not traced. */
  readonly spanId: string | undefined;
}

/** The facts in an engine's answer so far. */
export interface AnswerFacts {
  /** The model's name in the answer. */
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
  /** One entry per ended choice, in the order of their ends. */
  readonly finishReasons: readonly FinishReason[];
}

/** Watches one attempt. Not called for each chunk. */
export interface AttemptWatch {
  /** The span of the attempt, as W3C `traceparent`. The call carries it. Absent: tracing is off. */
  readonly traceparent?: string | undefined;
  /** The first output has come, or the first part of an answer that does not stream. Later calls change nothing. */
  readonly output: () => void;
  /** Another endpoint answers. Called with its name. */
  readonly movedTo: (endpoint: string) => void;
  /** Only the first call has an effect. `facts`: undefined if there is no answer. */
  readonly ended: (end: AttemptEnd, facts: AnswerFacts | undefined) => void;
}

export interface SearchRecord {
  readonly provider: string;
  readonly result: 'found' | SearchError;
  readonly durationMs: number;
  /** What went wrong, safe to log. */
  readonly detail?: string;
  /** Id of its span. Undefined: the request is not traced. */
  readonly spanId: string | undefined;
}

/** One step of a request, reported when it is done. Attempts are reported to `RequestWatch.attempt`. */
export type RequestProgress =
  /** Its key is known. */
  | { readonly kind: 'authenticated'; readonly workspaceId: string; readonly keyId: string }
  /** Limits, balance and budget let it pass. */
  | { readonly kind: 'admitted' }
  /** Its whole body has arrived, after this wait. */
  | { readonly kind: 'arrived'; readonly waitedMs: number }
  /** Its body has been read. `modelId`: the model, if the catalog has it; else `asked` is the name that the caller gave. */
  | {
      readonly kind: 'read';
      readonly modelId: string | undefined;
      readonly asked?: string | undefined;
      readonly stream: boolean;
    }
  /** The routes of its model have been ranked, also where none is left. */
  | { readonly kind: 'ranked'; readonly ranking: Ranking }
  /** The endpoints of several equal routes have decided that this one is tried first. */
  | { readonly kind: 'route-picked'; readonly routeId: string }
  /** No route of its model has room. */
  | { readonly kind: 'unavailable' }
  /** Its cost is reserved, and the first attempt is made next. `wouldRefuse`: limits that would have refused it, if they were enforced. */
  | { readonly kind: 'dispatched'; readonly wouldRefuse?: readonly LimitName[] }
  /** From now on, the caller gets the answer of this attempt. */
  | { readonly kind: 'won'; readonly routeId: string; readonly reason: AttemptReason }
  /** An engine reported impossible token counts, and the service counted in its place. */
  | { readonly kind: 'implausible-usage'; readonly routeId: string }
  /** The web was searched. */
  | { readonly kind: 'searched'; readonly search: SearchRecord }
  /** The engines have sent their last piece of the answer. */
  | { readonly kind: 'answered' }
  /** Its bill is made, and its row is written next. */
  | { readonly kind: 'settled'; readonly outcome: Outcome }
  /** Its row in the ledger is durable. */
  | { readonly kind: 'recorded' }
  /** It is over. No failure and no outcome: its caller left before it was complete. */
  | { readonly kind: 'ended'; readonly failure: Failure | undefined };

export interface BegunRequest {
  readonly requestId: string;
  readonly correlationId: string;
  readonly surface: Surface;
  /** The caller's IP address. Undefined: it is not known. */
  readonly address?: string | undefined;
  /** Undefined: tracing is off. */
  readonly trace: RequestTrace | undefined;
  /** When the request arrived, milliseconds: of the wall clock, and monotonic. */
  readonly startedAt: number;
  readonly begun: number;
}

/** Watches one request for an answer. Not called for each chunk. */
export interface RequestWatch {
  readonly progress: (progress: RequestProgress) => void;
  /** Called right before each call of an engine. The result receives the progress of that attempt. */
  readonly attempt: (start: AttemptStart) => AttemptWatch;
  /** The attempts so far, in the form of the ledger. Undefined: there was none. */
  readonly attemptLog: () => string | undefined;
}

/** Receives the facts about requests: counts, ids, names and times. No field can carry content. */
export interface Telemetry {
  /** A request for an answer has arrived. `ended` is reported to the result once, as its last step. */
  readonly begin: (request: BegunRequest) => RequestWatch;
  /** A request that does not ask for an answer was refused. */
  readonly refused: (request: BegunRequest, failure: Failure) => void;
}
