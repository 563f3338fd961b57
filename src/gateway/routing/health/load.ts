import type { Backend } from '../../../core/catalog.ts';
import type { Endpoint } from '../../../core/endpoint.ts';

/** The attempts under way on a backend or on one of its endpoints, by all routes. */
export interface BackendLoad {
  /** Undefined: the operator has declared no capacity. */
  readonly capacity: number | undefined;
  inFlight: number;
}

/** The load of a backend, and of each of its endpoints. */
export type BackendLoads = ReturnType<typeof createBackendLoads>;

export function createBackendLoads({
  maxConcurrentRequests,
  maxConcurrentRequestsPerEndpoint,
}: Pick<Backend, 'maxConcurrentRequests' | 'maxConcurrentRequestsPerEndpoint'>) {
  const loads = new Map<string, BackendLoad>();
  /** Number of endpoints that may get attempts. Undefined: not known yet. */
  let present: number | undefined;
  /** Endpoints that get no new attempts, and finish the ones under way. */
  let leaving: readonly BackendLoad[] = [];

  /**
   * The capacity of the backend. It includes the attempts on endpoints that leave, so that these attempts use no capacity of the
   * other endpoints.
   */
  function capacity(): number | undefined {
    if (maxConcurrentRequestsPerEndpoint === undefined || present === undefined) return maxConcurrentRequests;
    const finishing = leaving.reduce((sum, { inFlight }) => sum + inFlight, 0);
    const together = maxConcurrentRequestsPerEndpoint * present + finishing;
    return Math.min(maxConcurrentRequests ?? together, together);
  }

  const whole: BackendLoad = {
    inFlight: 0,
    get capacity() {
      return capacity();
    },
  };
  return {
    whole,
    of: ({ name }: Endpoint): BackendLoad => {
      const load = loads.get(name) ?? { inFlight: 0, capacity: maxConcurrentRequestsPerEndpoint };
      loads.set(name, load);
      return load;
    },
    /** Forgets the other endpoints, once nothing is under way on them. */
    retain: (endpoints: readonly Endpoint[]): void => {
      const names = new Set(endpoints.map(({ name }) => name));
      for (const [name, { inFlight }] of loads) if (!names.has(name) && inFlight === 0) loads.delete(name);
      present = endpoints.length;
      leaving = [...loads].flatMap(([name, load]) => (names.has(name) ? [] : [load]));
    },
  };
}

export function isFull({ capacity, inFlight }: BackendLoad): boolean {
  return capacity !== undefined && inFlight >= capacity;
}

/** Above this share of its capacity, a backend or an endpoint is busy, and gets no work that is optional. */
const busyShare = 0.8;

/** Whether a backend or an endpoint with this load has room for a second attempt. */
export function isRoomy(load: BackendLoad): boolean {
  return !isFull(load) && (load.capacity === undefined || load.inFlight <= load.capacity * busyShare);
}

/** Whether the sum of these loads is too high for a second attempt. */
export function isBusy(loads: Iterable<BackendLoad>): boolean {
  let capacity = 0;
  let inFlight = 0;
  for (const load of loads) {
    if (load.capacity === undefined) return false;
    capacity += load.capacity;
    inFlight += load.inFlight;
  }
  return inFlight > capacity * busyShare;
}
