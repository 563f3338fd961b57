import type { Route } from '../../../core/catalog.ts';
import type { StructuralCapability } from '../../core/health.ts';
import type { FirstOutput } from './pace.ts';

/** Whether a request can be sent to a route. */
export type RouteState =
  | 'available'
  /** The route was ejected, and this request may test whether it has recovered. */
  | 'probe'
  /** The route can be asked, but its answers have lacked the structure that this request needs. */
  | 'invalid-structure'
  /** Like `invalid-structure`, and this request may test whether the answers are valid again. */
  | 'structure-probe'
  /** Ejected, but the route fails at once. When all other routes have failed, asking it costs nothing. */
  | 'last-resort'
  /** Ejected for keeping requests waiting, full, or cooling off. */
  | 'unavailable';

export interface RouteStatus {
  readonly state: RouteState;
  /** Set if none of its endpoints may serve the route: their vectors are others, or not known. */
  readonly hasOtherVectors?: true | undefined;
  /** Share of the route's attempts that succeeded lately; one until an attempt has failed. */
  readonly success: number;
  /** Share of its answers with the right structure, in the capabilities that this request needs. */
  readonly validity: number;
  /** Attempts under way on its backend, by all routes. */
  readonly inFlight: number;
  /** Attempts that its backend accepts at a time; undefined where the operator has declared none. */
  readonly capacity: number | undefined;
  /** Time to the first output in the transport asked for. Undefined: unknown, and so is `tokenMs`. */
  readonly firstOutput: FirstOutput | undefined;
  /** Time per token of a stream, milliseconds. */
  readonly tokenMs: number | undefined;
}

/** The parts of a request that the status of a route depends on. */
export interface StatusAsk {
  readonly stream: boolean;
  /** The structure that its answer must have. */
  readonly capabilities: readonly StructuralCapability[];
}

export interface RoutingView {
  readonly status: (route: Route, ask: StatusAsk) => RouteStatus;
  /** Call it when a request goes out as a structure probe. No second probe follows while it runs. */
  readonly probeStructure: (route: Route, capabilities: readonly StructuralCapability[]) => void;
}

const unknown: RouteStatus = {
  state: 'available',
  success: 1,
  validity: 1,
  inFlight: 0,
  capacity: undefined,
  firstOutput: undefined,
  tokenMs: undefined,
};

/** Where nothing is known, every route is as good as its weight. */
export const neverSeen: RoutingView = { status: () => unknown, probeStructure: () => undefined };
