import type { Endpoint } from '../../../core/endpoint.ts';
import { createEndpointHealth, type Ejection, type EndpointHealth } from './endpoint-health.ts';
import type { BackendLoads } from './load.ts';
import type { PoolView } from './pool-choice.ts';

/** Whether an endpoint may get requests, by its name. Undefined: all may. */
export type AdmitsEndpoint = ((endpoint: string) => boolean) | undefined;

export interface KnownEndpointsOptions {
  readonly loads: BackendLoads;
  /** The pool of the backend's endpoints. */
  readonly pool: PoolView;
  readonly endpoints: () => readonly Endpoint[];
  /** `HealthOptions.admitted`, for this route. */
  readonly admitted?: (() => AdmitsEndpoint) | undefined;
  readonly random: () => number;
  readonly elapsed: () => number;
}

/** With other endpoints beside it, an endpoint is ejected sooner and probed more often, because a probe keeps no caller waiting. */
const ejection: Readonly<Record<'alone' | 'amongOthers', Ejection>> = {
  alone: { failuresInRow: 5, maxOpenMs: 30_000 },
  amongOthers: { failuresInRow: 3, maxOpenMs: 5000 },
};

/**
 * How long the health of a removed endpoint is kept. The readiness of a pod may flap, and its failures must not be forgotten each
 * time. The same as the longest ejection of an endpoint.
 */
const rememberedMs = 30_000;

export type KnownEndpoints = ReturnType<typeof createKnownEndpoints>;

/** The health of the present endpoints, and of those that were removed lately. */
export function createKnownEndpoints(options: KnownEndpointsOptions) {
  const { loads, pool, random, elapsed, endpoints, admitted } = options;
  let names: readonly Endpoint[] = [];
  let known: readonly EndpointHealth[] = [];
  /** Endpoints that were removed lately, each with the time at which its removal was noticed. */
  const gone = new Map<string, { readonly health: EndpointHealth; readonly at: number }>();

  function newHealth(endpoint: Endpoint): EndpointHealth {
    return createEndpointHealth({
      endpoint,
      load: loads.of(endpoint),
      backendLoad: loads.whole,
      ejection: () => (known.length > 1 ? ejection.amongOthers : ejection.alone),
      random,
      elapsed,
    });
  }

  function presentEndpoints(): readonly EndpointHealth[] {
    const now = endpoints();
    if (now === names) return known;
    const at = elapsed();
    for (const [name, { at: missedAt }] of gone) if (at - missedAt >= rememberedMs) gone.delete(name);
    for (const health of known) gone.set(health.endpoint.name, { health, at });
    names = now;
    loads.retain(now);
    known = now.map((endpoint) => {
      const { health } = gone.get(endpoint.name) ?? {};
      gone.delete(endpoint.name);
      health?.renew({ endpoint, load: loads.of(endpoint) });
      return health ?? newHealth(endpoint);
    });
    pool.pool.retain(new Set([...now.map(({ name }) => name), ...gone.keys()]));
    return known;
  }

  return {
    /** The present endpoints that may get requests. */
    now: (): readonly EndpointHealth[] => {
      const present = presentEndpoints();
      const isAdmitted = admitted?.();
      return isAdmitted === undefined ? present : present.filter(({ endpoint }) => isAdmitted(endpoint.name));
    },
    /** All present endpoints at the last call of `now`. */
    last: (): readonly EndpointHealth[] => known,
  };
}
