import { isStandby } from '../../core/catalog.ts';
import type { AttemptPlace, AttemptRecord, BeginOptions, Health, OtherEndpoints } from '../core/health.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { ChoiceContinuation } from './continuation/continuation.ts';
import type { Tried } from './tried.ts';

/**
 * The routes that may get another attempt beside those under way. While an attempt runs on a healthy endpoint of a weighted
 * route, a standby gets none, however slow that attempt is.
 */
export function openRoutes(
  routes: readonly PlannedRoute[],
  running: readonly AttemptPlace[],
  health: Pick<Health, 'isOut' | 'isProbed'>,
): readonly PlannedRoute[] {
  const isSpared = running.some((at) => !isStandby(at.route) && !health.isOut(at) && !health.isProbed(at));
  return isSpared ? routes.filter(({ route }) => !isStandby(route)) : routes;
}

interface PlacesOptions {
  readonly tried: Pick<Tried, 'on'>;
  readonly health: Pick<Health, 'endpointsLeft'>;
}

/** The endpoints of these routes that have not been tried. */
export function placesLeft(
  routes: readonly PlannedRoute[],
  { tried, health }: PlacesOptions,
): readonly OtherEndpoints[] {
  return routes.flatMap((planned) => {
    const avoid = tried.on(planned);
    const left = avoid === 'all' ? undefined : { route: planned.route, avoid };
    return left !== undefined && health.endpointsLeft(left) > 0 ? [left] : [];
  });
}

/** Returns how a route continues the delivered output. Undefined: the route cannot continue it. */
export type ContinueOn = (planned: PlannedRoute) => ChoiceContinuation | undefined;

/** An attempt for which an endpoint had room. The endpoint's load counts it already. */
export interface BegunPlace {
  readonly planned: PlannedRoute;
  /** How the attempt continues a choice. Undefined: it asks for the answer from its beginning. */
  readonly continuation: ChoiceContinuation | undefined;
  readonly record: AttemptRecord;
}

interface BeginPlaceOptions {
  readonly tried: Pick<Tried, 'on'>;
  readonly health: Pick<Health, 'begin'>;
  /** Undefined: nothing was delivered, so every route is asked for the answer from its beginning. */
  readonly continueOn: ContinueOn | undefined;
  readonly attempt: Omit<BeginOptions, 'avoid'>;
}

/**
 * Begins an attempt on the first of these routes that can serve it and has an untried endpoint with room. Undefined: no route has.
 */
export function beginInFirstPlace(
  routes: readonly PlannedRoute[],
  { tried, health, continueOn, attempt }: BeginPlaceOptions,
): BegunPlace | undefined {
  for (const planned of routes) {
    const avoid = tried.on(planned);
    const continuation = continueOn?.(planned);
    if (avoid === 'all' || (continueOn !== undefined && continuation === undefined)) continue;
    const record = health.begin(planned.route, { ...attempt, avoid });
    if (record !== undefined) return { planned, continuation, record };
  }
  return undefined;
}
