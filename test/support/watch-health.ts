import type { Route } from '../../src/core/catalog.ts';
import type { Fault } from '../../src/core/event.ts';
import type { AttemptEnd, AttemptPlace, AttemptRecord } from '../../src/gateway/core/health.ts';
import { createHealth } from '../../src/gateway/routing/health/health.ts';
import { createFakeClock } from './fake-clock.ts';
import { endpointOf, endpointsOf, routeOf } from './route-of.ts';

export const reset: Fault = { kind: 'reset', detail: '' };
export const limited: Fault = { kind: 'status', detail: '', status: 429, engineError: 'rate-limit' };
export const failed = (fault: Fault): AttemptEnd => ({ kind: 'failed', fault });
export const complete: AttemptEnd = { kind: 'complete', tokens: 101 };

/** A route on a backend of so many slots. */
export function sized(name: string, slots: number): Route {
  const route = routeOf(name);
  return { ...route, backend: { ...route.backend, maxConcurrentRequests: slots } };
}

const placeOf = (route: Route): AttemptPlace => ({ route, endpoint: endpointOf(route.backend.name) });

/** The health of routes under a fake clock, and attempts to report to it. */
export function watchHealth() {
  const clock = createFakeClock();
  const health = createHealth({ clock, random: () => 0, endpoints: endpointsOf() });
  const begin = (route: Route, stream = true, prompt?: number): AttemptRecord => {
    const record = health.begin(route, { stream, prompt });
    if (record === undefined) throw new Error(`${route.id} takes none`);
    return record;
  };
  const status = (route: Route, stream = true) => health.status(route, { stream, capabilities: [] });
  return {
    ...{ clock, health, begin, status },
    isOut: (route: Route) => health.isOut(placeOf(route)),
    isAnswering: (route: Route, wait: { readonly stream: boolean; readonly waitedMs: number }) =>
      health.isAnswering(placeOf(route), wait),
    /** When to hedge an attempt on a route that has others behind it. */
    hedge: (route: Route, { stream, others }: { readonly stream: boolean; readonly others: readonly Route[] }) =>
      health.hedge(placeOf(route), {
        stream,
        others: others.map((other) => ({ route: other, avoid: new Set<string>() })),
      }),
    state: (route: Route) => status(route).state,
    /** An attempt from beginning to end, its first output after so many milliseconds. */
    attempt: (
      route: Route,
      end: AttemptEnd,
      options: { readonly firstMs?: number; readonly stream?: boolean; readonly prompt?: number } = {},
    ) => {
      const record = begin(route, options.stream, options.prompt);
      clock.advance(options.firstMs ?? 0);
      if (end.kind === 'complete') record.output();
      record.ended(end);
    },
  };
}
