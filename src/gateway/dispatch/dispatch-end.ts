import type { Route } from '../../core/catalog.ts';
import type { Fault } from '../../core/event.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { Delivered } from './continuation/delivered.ts';
import type { RaceEnd } from './race-end.ts';
import type { AttemptRefusal } from './retries.ts';

/**
 * How dispatch ended. `routes`: on how many routes the `attempts` were made. One route may get several attempts. `lastFault`: of
 * the attempt that failed last, if no engine completed the answer.
 */
export type DispatchEnd = DispatchEnding & { readonly routes: number; readonly lastFault?: Fault | undefined };

/** `route`: the route that delivered last. */
export type DispatchEnding =
  | { readonly kind: 'completed'; readonly route: Route; readonly attempts: number; readonly isContinued: boolean }
  /** The answer failed after output had been delivered, and no route could continue it. */
  | { readonly kind: 'interrupted'; readonly route: Route; readonly attempts: number }
  /**
   * No route delivered. Has the reason if the routes name one. `isPartial`: some routes were not asked. Without attempts, no route
   * had room.
   */
  | ({ readonly kind: 'failed'; readonly attempts: number; readonly isPartial: boolean } & AttemptRefusal)
  /** `heard`: there is evidence that the request reached an engine (`lookForEvidence`). */
  | {
      readonly kind: 'cancelled';
      readonly attempts: number;
      readonly route: Route | undefined;
      readonly heard: boolean;
    };

/** How much of an answer has been delivered when one of its races ends. */
export interface DeliveredSoFar {
  /** The route that delivered last. Undefined: nothing was delivered. */
  readonly route: Route | undefined;
  /** Whether every choice has ended. */
  readonly isFinished: boolean;
  /** All that was delivered, so that another route can continue it. Undefined: it was not kept. */
  readonly kept: Delivered | undefined;
}

/** What follows from the end of a race. */
export type AfterRace =
  /** The choices of the race are complete. The answer is complete if no other race is under way. */
  | { readonly kind: 'complete'; readonly route: Route }
  /** The choices that have not ended are continued elsewhere. */
  | { readonly kind: 'continue'; readonly brokenOn: PlannedRoute; readonly kept: Delivered }
  | { readonly kind: 'interrupt'; readonly route: Route }
  | { readonly kind: 'fail'; readonly isPartial: boolean; readonly refusal: AttemptRefusal }
  | { readonly kind: 'crash'; readonly error: unknown };

/** Once output has been delivered, an answer can be completed, continued or interrupted, and cannot fail or crash. */
export function afterRace(end: RaceEnd, { route, isFinished, kept }: DeliveredSoFar): AfterRace {
  switch (end.kind) {
    case 'complete':
      return { kind: 'complete', route: end.planned.route };
    case 'broken':
      // After the end of every choice, only the end of the exchange is missing.
      if (isFinished) return { kind: 'complete', route: end.planned.route };
      if (kept === undefined) return { kind: 'interrupt', route: route ?? end.planned.route };
      return { kind: 'continue', brokenOn: end.planned, kept };
    case 'exhausted': {
      const { isPartial, refusedFor, about, isLasting } = end;
      if (route !== undefined) return { kind: 'interrupt', route };
      return { kind: 'fail', isPartial, refusal: { refusedFor, about, isLasting } };
    }
    case 'crashed':
      return route === undefined ? { kind: 'crash', error: end.error } : { kind: 'interrupt', route };
  }
}
