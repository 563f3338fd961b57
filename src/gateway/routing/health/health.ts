import { isProvider, isStandby, type Route, routeKey } from '../../../core/catalog.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Endpoints } from '../../../core/endpoint.ts';
import type { AttemptPlace, Health } from '../../core/health.ts';
import { createPools, type Pools } from '../pool/pools.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import type { AdmitsEndpoint } from './known-endpoints.ts';
import { createFailedPrompts } from './failed-prompts.ts';
import { hedgeAdvice } from './hedge-advice.ts';
import { type BackendLoads, createBackendLoads } from './load.ts';
import { soonestPool } from './pool-choice.ts';
import { createRouteHealth, type IsUsed, type RouteHealth } from './route-health.ts';
import type { RouteRecord, RulesOut } from './route-record.ts';
import type { RoutingView } from './route-status.ts';
import { createMetSchemas } from './structure-health.ts';

export interface HealthOptions {
  readonly clock: Pick<Clock, 'elapsed'>;
  /** 0 ≤ x < 1, for jitter. */
  readonly random: () => number;
  readonly endpoints: Endpoints;
  /** What is known of the endpoints of each backend. Absent: of this replica's own attempts alone, which are all there are. */
  readonly pools?: PoolsOfReplica | undefined;
  /**
   * Which endpoints of a route may get its requests: those of an embedding model whose vectors are known to be the same. Absent: all
   * may.
   */
  readonly admitted?: ((route: Route) => AdmitsEndpoint) | undefined;
}

/** The pools, and whether other replicas use them without a word to this one. */
export interface PoolsOfReplica {
  readonly pools: Pools;
  readonly isApart: () => boolean;
}

/** The live health of all routes, in memory. Each replica has its own. */
export interface LiveHealth extends Health, RoutingView {
  /** Forgets all other routes. Call it with the routes of each new snapshot. */
  readonly retain: (routes: Iterable<Route>) => void;
  /** Whether the route has an endpoint that Envoy uses and that is neither ejected nor cooling off. The endpoint may be full. */
  readonly isServing: (route: Route, isUsed: IsUsed) => boolean;
  /** The result of the route's last requests, for operators. */
  readonly record: (route: Route) => RouteRecord;
  /** Call it when an endpoint of the route has answered a question for its models. Faults that this rules out are over. */
  readonly recovered: (route: Route, endpoint: string, rulesOut: RulesOut) => void;
  /** Names of the route's endpoints that get no requests because earlier requests failed. */
  readonly ejected: (route: Route) => readonly string[];
  /** Names of the ejected endpoints whose attempts did not fail: other endpoints answered first. */
  readonly slow: (route: Route) => readonly string[];
  /** The 95th percentile of the recent times to the first output of streams, milliseconds. Undefined: there was no stream. */
  readonly firstOutputP95: (route: Route) => number | undefined;
}

interface KnownRoutesOptions extends Pick<HealthOptions, 'random' | 'endpoints' | 'admitted'> {
  readonly pools: PoolsOfReplica;
  readonly elapsed: () => number;
}

/** The health of each route, and the loads of backends by cluster, because routes of several models may share a backend. */
function createKnownRoutes({ random, endpoints, admitted, pools: { pools, isApart }, elapsed }: KnownRoutesOptions) {
  const known = new Map<string, RouteHealth>();
  const backends = new Map<string, BackendLoads>();

  function loadsOf({ backend }: Route): BackendLoads {
    const { name } = backend.cluster;
    return backends.getOrInsertComputed(name, () => createBackendLoads(backend));
  }

  function healthOf(route: Route): RouteHealth {
    const key = routeKey(route);
    let health = known.get(key);
    if (health === undefined) {
      const cluster = route.backend.cluster.name;
      const loads = loadsOf(route);
      health = createRouteHealth(route, {
        loads,
        pool: { pool: pools.of(cluster), isApart },
        endpoints: () => endpoints.of(cluster),
        admitted: admitted && (() => admitted(route)),
        random,
        elapsed,
      });
      known.set(key, health);
    }
    return health;
  }

  return {
    healthOf,
    /** The other routes on the backend of a route. An endpoint that one of them cannot reach is out of reach for all. */
    sharing: (route: Route): readonly RouteHealth[] => {
      const own = healthOf(route);
      return [...known.values()].filter((health) => health !== own && health.load === own.load);
    },
    retain: (routes: Iterable<Route>): void => {
      const kept = new Set<string>();
      const clusters = new Set<string>();
      for (const route of routes) {
        kept.add(routeKey(route));
        clusters.add(route.backend.cluster.name);
      }
      pools.retain(clusters);
      for (const key of known.keys()) if (!kept.has(key)) known.delete(key);
      // A removed backend is kept while attempts run on it, so that they count if the backend comes back.
      for (const [name, { whole }] of backends) if (!clusters.has(name) && whole.inFlight === 0) backends.delete(name);
    },
  };
}

const nowhere: ReadonlySet<string> = new Set();

export function createHealth({ clock, random, endpoints, pools, admitted }: HealthOptions): LiveHealth {
  const elapsed = (): number => clock.elapsed();
  const { healthOf, sharing, retain } = createKnownRoutes({
    random,
    endpoints,
    admitted,
    pools: pools ?? { pools: createPools({ isReported: false }), isApart: () => false },
    elapsed,
  });
  const schemas = createMetSchemas();
  const prompts = createFailedPrompts(random);
  const placeOf = ({ route, endpoint }: AttemptPlace): EndpointHealth | undefined =>
    healthOf(route).named(endpoint.name);

  return {
    begin: (route, { stream, prompt, affinity, poolPrompt, avoid = nowhere, isLastResort = false }) =>
      healthOf(route).begin(elapsed(), {
        stream,
        affinity,
        poolPrompt: isProvider(route.backend) ? undefined : poolPrompt,
        avoid,
        isLastResort,
        answered: () => prompts.answered(prompt),
        unreachable: (endpoint, fault) => {
          for (const other of sharing(route)) other.named(endpoint)?.alsoFailed(elapsed(), fault);
        },
        isRepeated: (now, endpoint) => prompts.failed(now, { prompt, place: `${routeKey(route)} ${endpoint}` }),
      }),
    failedOn: (prompt) => prompts.places(elapsed(), prompt),
    endpointsLeft: ({ route, avoid = nowhere }) => {
      const isAdmitted = admitted?.(route);
      const isLeft = (name: string): boolean => !avoid.has(name) && isAdmitted?.(name) !== false;
      return endpoints.of(route.backend.cluster.name).reduce((count, { name }) => count + (isLeft(name) ? 1 : 0), 0);
    },
    firstTokenWait: (route, ask) =>
      isProvider(route.backend) ? undefined : healthOf(route).firstTokenWait(elapsed(), ask),
    soonest: (routes, { stream, poolPrompt, affinity }) => {
      const now = elapsed();
      const compared = routes.map((route) => healthOf(route).poolNow(now, stream));
      const index = soonestPool(compared, { prompt: poolPrompt, now, affinity, turn: random() });
      return index === undefined ? undefined : routes[index];
    },
    hedge: ({ route, endpoint }, { stream, others }) =>
      hedgeAdvice(healthOf(route), {
        now: elapsed(),
        stream,
        endpoint: endpoint.name,
        isStandby: isStandby(route),
        others: others.map(({ route: other, avoid = nowhere }) => ({
          health: healthOf(other),
          avoid,
          isStandby: isStandby(other),
        })),
      }),
    isAnswering: (at, wait) => placeOf(at)?.isAnswering(elapsed(), wait) === true,
    // A removed endpoint is not out: its attempts may finish.
    isOut: (at) => placeOf(at)?.isEjected(elapsed()) === true,
    isProbed: (at) => placeOf(at)?.probing(elapsed()) === true,
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
    isServing: (route, isUsed) => healthOf(route).isServing(elapsed(), isUsed),
    record: (route) => healthOf(route).record(),
    recovered: (route, endpoint, rulesOut) => healthOf(route).recovered(elapsed(), endpoint, rulesOut),
    ejected: (route) => {
      const now = elapsed();
      return healthOf(route)
        .endpoints()
        .flatMap((health) => (health.isServing(now) ? [] : [health.endpoint.name]));
    },
    slow: (route) => {
      const now = elapsed();
      return healthOf(route)
        .endpoints()
        .flatMap((health) => (health.isSlow(now) ? [health.endpoint.name] : []));
    },
    firstOutputP95: (route) => healthOf(route).firstOutputs(true).quantile(0.95),
    retain,
  };
}
