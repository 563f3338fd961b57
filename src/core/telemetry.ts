import type { Outcome } from './account.ts';
import type { Fault } from './event.ts';
import type { Failure } from './failure.ts';
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

/** What is told about requests: counts, ids, names and times. Nothing here can carry content. */
export interface Telemetry {
  /** A request that was dispatched has ended. */
  readonly outcome: (outcome: Outcome) => void;
  /** A request was refused before it was dispatched, or every attempt failed. */
  readonly refusal: (requestId: string, failure: Failure) => void;
  /** A request was refused because no route of its model had room. */
  readonly unavailable: (modelId: string) => void;
  /** An attempt is made, why and where. */
  readonly attempt: (
    requestId: string,
    routeId: string,
    why: { readonly reason: AttemptReason; readonly step: AttemptStep },
  ) => void;
  /** An attempt failed. */
  readonly fault: (requestId: string, routeId: string, fault: Fault) => void;
  /** An engine counted what cannot be true, so that we counted in its place. */
  readonly implausibleUsage: (requestId: string, routeId: string) => void;
  /** The web was searched. */
  readonly searched: (requestId: string, search: SearchRecord) => void;
}
