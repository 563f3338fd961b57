import { type Fault, isOfTheRequest } from '../core/event.ts';
import type { Endpoint } from '../core/endpoint.ts';
import type { PlannedRoute } from '../core/plan.ts';

/** Where a request has been tried, and is not to be tried again. */
export interface Tried {
  /** Names of the endpoints of a route that are not to be tried; `all`: the route as a whole is not. */
  readonly on: (planned: PlannedRoute) => ReadonlySet<string> | 'all';
  /** An attempt is made on the endpoint: the next one is made elsewhere, whether this one still runs or has failed. */
  readonly began: (planned: PlannedRoute, endpoint: Endpoint) => void;
  /** The attempt is not needed any more. What breaks off elsewhere may go on there. */
  readonly abandoned: (planned: PlannedRoute, endpoint: Endpoint) => void;
  readonly failed: (planned: PlannedRoute, fault: Fault) => void;
  /** What one more race of the same request begins with. */
  readonly fork: () => Tried;
}

/** A prompt may be what makes engines fail: it is shown to no more endpoints of one backend. */
const mostFailures = 3;
/** Endpoints that cannot be reached cost little, but each may cost a connection's timeout. */
const mostAttempts = 8;

interface TriedRoute {
  readonly endpoints: Set<string>;
  failures: number;
  isOver: boolean;
}

const none: ReadonlySet<string> = new Set();

/** `earlier`: what an earlier race of the same request has left. */
export function createTried(earlier: ReadonlyMap<PlannedRoute, TriedRoute> = new Map()): Tried {
  const routes = new Map(
    [...earlier].map(([planned, tried]) => [planned, { ...tried, endpoints: new Set(tried.endpoints) }]),
  );

  function of(planned: PlannedRoute): TriedRoute {
    const tried = routes.get(planned) ?? { endpoints: new Set(), failures: 0, isOver: false };
    routes.set(planned, tried);
    return tried;
  }

  return {
    on: (planned) => {
      const tried = routes.get(planned);
      if (tried === undefined) return none;
      return tried.isOver || tried.endpoints.size >= mostAttempts ? 'all' : tried.endpoints;
    },
    began: (planned, { name }) => of(planned).endpoints.add(name),
    abandoned: (planned, { name }) => of(planned).endpoints.delete(name),
    failed: (planned, fault) => {
      const tried = of(planned);
      // What lies in the request, or in the account with the provider, is the same on every endpoint.
      if (isOfTheRequest(fault) || fault.engineError === 'account') tried.isOver = true;
      if (fault.kind !== 'connect') tried.failures += 1;
      if (tried.failures >= mostFailures) tried.isOver = true;
    },
    fork: () => createTried(routes),
  };
}
