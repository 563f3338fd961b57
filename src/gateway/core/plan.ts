import type { Feature, RequestTarget } from '../../core/capability.ts';
import type { Model, Route } from '../../core/catalog.ts';
import type { PoolPrompt } from '../../core/pool-prompt.ts';

/** A route, with the way in which it would serve the request. */
export interface PlannedRoute {
  readonly route: Route;
  readonly target: RequestTarget;
}

/** The routes that can serve an exact request, in the order in which they are tried. */
export interface Plan {
  readonly model: Model;
  readonly routes: readonly [PlannedRoute, ...PlannedRoute[]];
  /** Further routes that could serve the request, but are full, ejected or cooling off now: its last resorts. Absent: none. */
  readonly leftOut?: readonly PlannedRoute[];
  /**
   * Digest of the beginning of its prompt, for `UpstreamCall.affinity`; absent when the beginning is too short to
   * matter.
   */
  readonly affinity?: string | undefined;
  /**
   * Routes that may take the place of the first one, itself included, because the operator prefers none of them. The endpoint that answers
   * soonest decides. Absent or empty: the first one stays.
   */
  readonly equals?: readonly PlannedRoute[] | undefined;
  /** The prompt as the caches of endpoints see it. Absent: there are no endpoints to pick from. */
  readonly poolPrompt?: PoolPrompt | undefined;
}

/** Changes each route of a plan. */
export function withRoutes<Some extends Plan>(plan: Some, change: (planned: PlannedRoute) => PlannedRoute): Some {
  const { leftOut } = plan;
  const [first, ...others] = plan.routes;
  return { ...plan, routes: [change(first), ...others.map(change)], ...(leftOut && { leftOut: leftOut.map(change) }) };
}

/** Puts a route first, if the plan has it. */
export function withFirst<Some extends Plan>(plan: Some, route: Route | undefined): Some {
  const first = plan.routes.find((planned) => planned.route === route) ?? plan.routes[0];
  return { ...plan, routes: [first, ...plan.routes.filter((planned) => planned !== first)] };
}

/** How the routes of a model were ranked for a request, and why: the part of a plan for operators. */
export interface Ranking {
  /** Why the first route comes first. Undefined: there is no route. */
  readonly first: FirstReason | undefined;
  /** In the order in which they are tried. */
  readonly routes: readonly RankedRoute[];
  readonly leftOut: readonly LeftOutRoute[];
}

/**
 * `only`: there was no other route. `standby`: no route with a weight was left. `probe`: to find out whether the route
 * is healthy again. `affinity`: the route serves this conversation. `chance`: at random, by score. `soonest`: of the routes
 * with the same weight, it has the endpoint that answers soonest.
 */
export const firstReasons = ['only', 'standby', 'probe', 'affinity', 'chance', 'soonest'] as const;
export type FirstReason = (typeof firstReasons)[number];

export const routeStates = ['available', 'probe', 'invalid-structure', 'structure-probe', 'last-resort'] as const;

/** A route at the moment when it was ranked. */
export interface RankedRoute {
  readonly routeId: string;
  readonly state: (typeof routeStates)[number];
  /** Its chance to be tried first, relative to the others. */
  readonly chance: number;
  readonly success: number;
  readonly validity: number;
  readonly inFlight: number;
  readonly capacity: number | undefined;
  /** Expected time to its first output, milliseconds; undefined: unknown. */
  readonly firstOutputMs: number | undefined;
}

/**
 * `cannot-serve`: it lacks a needed capability. `full`: all its slots are taken. `ejected`: attempts on it failed or were slow.
 * `invalid-structure`: its answers have lacked the requested structure. `other-vectors`: the vectors of all its endpoints are others than
 * those of the model, or not known.
 */
export const leftOutReasons = ['cannot-serve', 'full', 'ejected', 'invalid-structure', 'other-vectors'] as const;

/** A route that was not planned. */
export interface LeftOutRoute {
  readonly routeId: string;
  readonly why: (typeof leftOutReasons)[number];
  /** The features of the request that the route does not support. */
  readonly lacks: readonly Feature[];
}
