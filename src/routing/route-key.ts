import type { Route } from '../core/catalog.ts';

const keys = new WeakMap<Route, string>();

/**
 * What a route is known by from one snapshot to the next, which brings new objects for the same routes. A backend whose
 * cluster changed is another one: nothing that was learned of the old holds for it.
 */
export function routeKey(route: Route): string {
  let key = keys.get(route);
  if (key === undefined) {
    key = `${route.id} ${route.backend.cluster.name}`;
    keys.set(route, key);
  }
  return key;
}
