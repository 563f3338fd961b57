import type { Route } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import type { Health } from '../../core/health.ts';
import { routeKey } from '../route-key.ts';
import { type BackendLoad, newLoad } from './backend-load.ts';
import { createFailedPrompts } from './failed-prompts.ts';
import { hedgeAdvice } from './hedge-advice.ts';
import { createRouteHealth, type RouteHealth } from './route-health.ts';
import type { RoutingView } from './route-status.ts';
import { createMetSchemas } from './structure-health.ts';

export interface HealthOptions {
  readonly clock: Pick<Clock, 'elapsed'>;
  /** 0 ≤ x < 1, for jitter. */
  readonly random: () => number;
}

/** The live health of all routes, in memory. Each replica learns for itself. */
export interface LiveHealth extends Health, RoutingView {
  /** Forgets all other routes. Call it with the routes of each new snapshot. */
  readonly retain: (routes: Iterable<Route>) => void;
  /** Whether the route is neither ejected nor cooling off. It may be full. */
  readonly isServing: (route: Route) => boolean;
}

export function createHealth({ clock, random }: HealthOptions): LiveHealth {
  const elapsed = (): number => clock.elapsed();
  const known = new Map<string, RouteHealth>();
  const schemas = createMetSchemas();
  const prompts = createFailedPrompts(random);
  /** By cluster, since routes of several models may share a backend. */
  const loads = new Map<string, BackendLoad>();

  function loadOf({ backend }: Route): BackendLoad {
    const { name } = backend.cluster;
    let load = loads.get(name);
    if (load === undefined) {
      load = newLoad(backend);
      loads.set(name, load);
    }
    return load;
  }

  function healthOf(route: Route): RouteHealth {
    const key = routeKey(route);
    let health = known.get(key);
    if (health === undefined) {
      health = createRouteHealth(loadOf(route), { random, elapsed });
      known.set(key, health);
    }
    return health;
  }

  return {
    begin: (route, { stream, prompt }) =>
      healthOf(route).begin(elapsed(), {
        stream,
        answered: () => prompts.answered(prompt),
        isRepeated: (now) => prompts.failed(now, { prompt, route: routeKey(route) }),
      }),
    failedOn: (prompt) => prompts.routes(elapsed(), prompt),
    hedge: (route, { stream, others }) =>
      hedgeAdvice(healthOf(route), { now: elapsed(), stream, others: others.map(healthOf) }),
    isAnswering: (route, wait) => healthOf(route).isAnswering(elapsed(), wait),
    isOut: (route) => healthOf(route).isEjected(elapsed()),
    structure: (route, finding) => {
      const { capability, result, caller, asked } = finding;
      const now = elapsed();
      const key = routeKey(route);
      if (result === 'valid') schemas.met(now, { route: key, asked });
      const isProven = result !== 'valid' && schemas.missed(now, { route: key, asked });
      healthOf(route).structure.record(now, { capability, caller, result: isProven ? 'invalid' : result });
    },
    status: (route, ask) => healthOf(route).status(elapsed(), ask),
    probeStructure: (route, capabilities) => healthOf(route).structure.probe(elapsed(), capabilities),
    isServing: (route) => healthOf(route).isServing(elapsed()),
    retain: (routes) => {
      const kept = new Set<string>();
      const clusters = new Set<string>();
      for (const route of routes) {
        kept.add(routeKey(route));
        clusters.add(route.backend.cluster.name);
      }
      for (const key of known.keys()) if (!kept.has(key)) known.delete(key);
      // Attempts that still run on a removed backend count should the backend come back meanwhile.
      for (const [name, { inFlight }] of loads) if (!clusters.has(name) && inFlight === 0) loads.delete(name);
    },
  };
}
