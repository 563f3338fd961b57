import type { Outcome } from './account.ts';
import type { Surface } from './dialect.ts';
import type { Failure } from './failure.ts';
import type { AttemptEnd } from './health.ts';
import type { Ranking } from './plan.ts';
import type { SearchError } from './web-search.ts';

/** Why an attempt is made. `resume`: to go on with an answer that broke off elsewhere. */
export type AttemptReason = 'first' | 'failover' | 'hedge' | 'resume';

/** Where an attempt is made, seen from the attempt before: on another endpoint of the same backend, or on another route. */
export type AttemptStep = 'first' | 'endpoint' | 'route';

/** An attempt whose call goes out next. */
export interface AttemptStart {
  readonly routeId: string;
  /** Name of the backend. */
  readonly backend: string;
  /** `Endpoint.name`. */
  readonly endpoint: string;
  readonly reason: AttemptReason;
  readonly step: AttemptStep;
}

/** Is told of one attempt. Not called for each chunk. */
export interface AttemptWatch {
  /** The first output has come: of an answer that does not stream, a part of it. Further calls are harmless. */
  readonly output: () => void;
  /** Another endpoint answers, by its name. */
  readonly movedTo: (endpoint: string) => void;
  /** The first call counts. `tokens`: output tokens, as far as the engine has counted them. */
  readonly ended: (end: AttemptEnd, tokens: number | undefined) => void;
}

/** How far a request has come on its way to its dispatch. */
export type RequestProgress =
  /** Its key is known. */
  | { readonly kind: 'authenticated'; readonly workspaceId: string; readonly keyId: string }
  /** Limits, balance and budget let it pass. */
  | { readonly kind: 'admitted' }
  /** Its body has been read. `modelId`: the model, if the catalog has it. */
  | { readonly kind: 'read'; readonly modelId: string | undefined; readonly stream: boolean }
  | { readonly kind: 'ranked'; readonly ranking: Ranking }
  /** Its cost is reserved, and the first attempt is made next. */
  | { readonly kind: 'dispatched' };

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
  /** A request for an answer has come. `over` follows once nothing more happens to it. */
  readonly began: (
    requestId: string,
    request: { readonly surface: Surface; readonly correlationId: string; readonly startedAt: number },
  ) => void;
  readonly progress: (requestId: string, progress: RequestProgress) => void;
  readonly over: (requestId: string) => void;
  /** A request that was dispatched has ended. */
  readonly outcome: (outcome: Outcome) => void;
  /** A request was refused before it was dispatched, or every attempt failed. */
  readonly refusal: (requestId: string, failure: Failure) => void;
  /** A request was refused because no route of its model had room. */
  readonly unavailable: (modelId: string) => void;
  /** An attempt is made, why and where. The result is told how it goes. */
  readonly attempt: (requestId: string, start: AttemptStart) => AttemptWatch;
  /** An engine counted what cannot be true, so that we counted in its place. */
  readonly implausibleUsage: (requestId: string, routeId: string) => void;
  /** The web was searched. */
  readonly searched: (requestId: string, search: SearchRecord) => void;
}
