import type { Backend } from '../../core/catalog.ts';

/** Attempts under way on a backend, by all of its routes. */
export interface BackendLoad {
  /** Undefined: the operator has not said how much the backend takes. */
  readonly capacity: number | undefined;
  inFlight: number;
}

export function newLoad({ maxConcurrentRequests }: Backend): BackendLoad {
  return { inFlight: 0, capacity: maxConcurrentRequests };
}

export function isFull({ capacity, inFlight }: BackendLoad): boolean {
  return capacity !== undefined && inFlight >= capacity;
}

/** Above this share of its capacity a backend is busy, and gets no work that could be left undone. */
const busyShare = 0.8;

/** Whether these backends together are too busy for a second attempt where one might do. */
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
