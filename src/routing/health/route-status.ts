import type { Route } from '../../core/catalog.ts';
import type { StructuralCapability } from '../../core/health.ts';
import type { FirstOutput } from './pace.ts';

/**
 * `available`: it can be asked. `probe`: it was ejected, and this request may find out whether it is back. `invalid-structure`: it can be asked,
 * but has been getting wrong what this request needs of form; `structure-probe`: this request may find out whether it still does.
 * `last-resort`: ejected, but it fails at once, so that asking it costs nothing where all else has failed. `unavailable`: ejected for keeping
 * requests waiting, full, or cooling off.
 */
export type RouteState =
  | 'available'
  | 'probe'
  | 'structure-probe'
  | 'invalid-structure'
  | 'last-resort'
  | 'unavailable';

/** How a route stands for a request, as of now. */
export interface RouteStatus {
  readonly state: RouteState;
  /** Share of its attempts that succeeded lately, believed to be one until something speaks against it. */
  readonly success: number;
  /** Share of its answers that were of the form asked for, in what this request needs. */
  readonly validity: number;
  /** Attempts under way on its backend, by all routes. */
  readonly inFlight: number;
  /** Undefined: nobody said how much its backend takes. */
  readonly capacity: number | undefined;
  /** Time to its first output in the transport asked for; undefined: unknown, and so are its tokens. */
  readonly firstOutput: FirstOutput | undefined;
  /** Time per token of a stream. */
  readonly tokenMs: number | undefined;
}

/** What of a request bears on how routes state. */
export interface StatusAsk {
  readonly stream: boolean;
  /** What it needs of structure. */
  readonly capabilities: readonly StructuralCapability[];
}

/** What routing sees of the health of routes. */
export interface RoutingView {
  readonly status: (route: Route, ask: StatusAsk) => RouteStatus;
  /** A request goes out to find out whether an unsound route is sound again: no second one does so at the same time. */
  readonly probeStructure: (route: Route, capabilities: readonly StructuralCapability[]) => void;
}

const unknown: RouteStatus = {
  ...{ state: 'available', success: 1, validity: 1, inFlight: 0 },
  ...{ capacity: undefined, firstOutput: undefined, tokenMs: undefined },
};

/** Where nothing is known, every route is as good as its weight. */
export const neverSeen: RoutingView = { status: () => unknown, probeStructure: () => undefined };
