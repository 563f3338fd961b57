import type { Route } from '../core/catalog.ts';

const keys = new WeakMap<Route, string>();

/**
 * The name of a route across snapshots, which bring new objects for the same routes. A route whose backend got another cluster
 * has another key: nothing that was learned of the old backend holds for the new one.
 */
export function routeKey(route: Route): string {
  let key = keys.get(route);
  if (key === undefined) {
    key = `${route.id} ${route.backend.cluster.name}`;
    keys.set(route, key);
  }
  return key;
}
