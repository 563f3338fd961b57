import type { Fault } from '../../core/event.ts';
import type { PlannedRoute } from '../core/plan.ts';
import { type AttemptRefusal, refusalOf } from './retries.ts';

/** How a race ended. `planned` is the route that delivered. */
export type RaceEnd =
  | { readonly kind: 'complete'; readonly planned: PlannedRoute }
  /** The winner failed after output had been delivered. */
  | { readonly kind: 'broken'; readonly planned: PlannedRoute }
  /** No route delivered. `isPartial`: not every route of the plan was asked. */
  | ({ readonly kind: 'exhausted'; readonly isPartial: boolean } & AttemptRefusal)
  | { readonly kind: 'crashed'; readonly error: unknown };

interface ExhaustedRace {
  readonly routes: readonly PlannedRoute[];
  /** The routes that were called. */
  readonly asked: ReadonlySet<PlannedRoute>;
  readonly faults: readonly Fault[];
  /** The route of a whole answer with the wrong structure. Undefined: there was no such answer. */
  readonly tolerable: PlannedRoute | undefined;
}

/** How a race ends when nothing is left to try. An answer of the wrong structure is better than none. */
export function endOfExhausted({ routes, asked, faults, tolerable }: ExhaustedRace): RaceEnd {
  if (tolerable !== undefined) return { kind: 'complete', planned: tolerable };
  return { kind: 'exhausted', isPartial: routes.some((planned) => !asked.has(planned)), ...refusalOf(faults) };
}
