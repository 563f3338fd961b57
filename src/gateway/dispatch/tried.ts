import { type Fault, isOfTheRequest } from '../../core/event.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { PlannedRoute } from '../core/plan.ts';

/** Remembers where a request has been tried, so that it is not tried there again. */
export interface Tried {
  /** Names of the route's endpoints that must not be tried. `all`: the whole route must not be tried. */
  readonly on: (planned: PlannedRoute) => ReadonlySet<string> | 'all';
  /** Call it when an attempt begins on the endpoint. The next attempt goes elsewhere, even while this one runs. */
  readonly began: (planned: PlannedRoute, endpoint: Endpoint) => void;
  /** Call it when the attempt is not needed any more. An answer that breaks off elsewhere may be continued on this endpoint. */
  readonly abandoned: (planned: PlannedRoute, endpoint: Endpoint) => void;
  readonly failed: (planned: PlannedRoute, fault: Fault) => void;
  /** Copies the memory for another race of the same request. */
  readonly fork: () => Tried;
}

/** Most failures on one route. The prompt may be the cause, and must not fail on every endpoint. */
const maxFailures = 3;
/** Most attempts on one route. An endpoint that cannot be reached may cost a connection's timeout. */
const maxAttempts = 8;

interface TriedRoute {
  readonly endpoints: Set<string>;
  failures: number;
  isOver: boolean;
}

const none: ReadonlySet<string> = new Set();

/** `earlier`: the memory of an earlier race of the same request. */
export function createTried(earlier: ReadonlyMap<PlannedRoute, TriedRoute> = new Map()): Tried {
  const routes = new Map(
    [...earlier].map(([planned, tried]) => [planned, { ...tried, endpoints: new Set(tried.endpoints) }]),
  );

  function of(planned: PlannedRoute): TriedRoute {
    return routes.getOrInsertComputed(planned, () => ({ endpoints: new Set(), failures: 0, isOver: false }));
  }

  return {
    on: (planned) => {
      const tried = routes.get(planned);
      if (tried === undefined) return none;
      return tried.isOver || tried.endpoints.size >= maxAttempts ? 'all' : tried.endpoints;
    },
    began: (planned, { name }) => of(planned).endpoints.add(name),
    abandoned: (planned, { name }) => of(planned).endpoints.delete(name),
    failed: (planned, fault) => {
      const tried = of(planned);
      // A fault of the request, or of the account with the provider, is the same on every endpoint.
      if (isOfTheRequest(fault) || fault.engineError === 'account') tried.isOver = true;
      if (fault.kind !== 'connect') tried.failures += 1;
      if (tried.failures >= maxFailures) tried.isOver = true;
    },
    fork: () => createTried(routes),
  };
}
