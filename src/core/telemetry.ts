import type { Outcome, OutcomeKind } from './account.ts';
import type { Surface } from './dialect.ts';
import type { Fault } from './event.ts';
import type { Failure, FailureCode } from './failure.ts';
import type { SearchError } from './web-search.ts';

/** Why an attempt is made. `resume`: to go on with an answer that broke off elsewhere. */
export type AttemptReason = 'first' | 'failover' | 'hedge' | 'resume';

/** Where an attempt is made, seen from the attempt before: on another endpoint of the same backend, or on another route. */
export type AttemptStep = 'first' | 'endpoint' | 'route';

/** How one search of the web went. */
export interface SearchRecord {
  readonly provider: string;
  readonly result: 'found' | SearchError;
  readonly durationMs: number;
  /** What went wrong, safe to log. */
  readonly detail?: string;
}

/** How a request ended, as its caller saw it. Told once for each request that asked for an answer, and for whatever else was refused. */
export interface RequestEnd {
  readonly requestId: string;
  /** The caller's or Envoy's `x-request-id`; empty where it is too long or not plain. */
  readonly correlationId: string;
  readonly surface: Surface;
  /** A model of the catalog. Undefined: the request ended before its model was found there. */
  readonly modelId: string | undefined;
  /** `refused`: nothing was dispatched. */
  readonly kind: OutcomeKind | 'refused';
  /** What the caller was told. Undefined: no error. */
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

/** What is told about requests: counts, ids, names and times. Nothing here can carry content. */
export interface Telemetry {
  /** A request that was dispatched has ended. */
  readonly outcome: (outcome: Outcome) => void;
  /** A request has ended, dispatched or not. */
  readonly ended: (end: RequestEnd) => void;
  /** A request was refused because no route of its model had room. */
  readonly unavailable: (modelId: string) => void;
  /** An attempt is made, why and where. */
  readonly attempt: (
    requestId: string,
    routeId: string,
    why: { readonly reason: AttemptReason; readonly step: AttemptStep },
  ) => void;
  /** The answer is that of this attempt from now on. */
  readonly won: (requestId: string, routeId: string, reason: AttemptReason) => void;
  /** An attempt failed. */
  readonly fault: (requestId: string, routeId: string, fault: Fault) => void;
  /** An engine counted what cannot be true, so that we counted in its place. */
  readonly implausibleUsage: (requestId: string, routeId: string) => void;
  /** The web was searched. */
  readonly searched: (requestId: string, search: SearchRecord) => void;
}
