import type { Outcome } from './account.ts';
import type { Fault } from './event.ts';
import type { Failure } from './failure.ts';

/** What is told about requests: counts, ids, names and times. Nothing here can carry content. */
export interface Telemetry {
  /** A request that was dispatched has ended. */
  readonly outcome: (outcome: Outcome) => void;
  /** A request was refused before it was dispatched, or every attempt failed. */
  readonly refusal: (requestId: string, failure: Failure) => void;
  /** An attempt failed. */
  readonly fault: (requestId: string, routeId: string, fault: Fault) => void;
}
