import type { RequestTarget } from './capability.ts';
import type { Model, Route } from './catalog.ts';

/** A route, with what becomes of the request on it. */
export interface PlannedRoute {
  readonly route: Route;
  readonly target: RequestTarget;
}

/** The routes that can serve an exact request, in the order in which they are tried. */
export interface Plan {
  readonly model: Model;
  readonly routes: readonly [PlannedRoute, ...PlannedRoute[]];
  /** How many further routes could serve it, but are full or ejected just now. Absent: none. */
  readonly leftOut?: number;
  /** Name of how its prompt begins, for `UpstreamCall.affinity`; absent when that is too short to matter. */
  readonly affinity?: string | undefined;
}
