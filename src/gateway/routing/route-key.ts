import type { Route } from '../../core/catalog.ts';

const keys = new WeakMap<Route, string>();

/**
 * Names a route across snapshots, each of which has new objects for the same routes. When the backend of a route gets another
 * cluster, the route gets another key, because the health of the old backend says nothing about the new one.
 */
export function routeKey(route: Route): string {
  let key = keys.get(route);
  if (key === undefined) {
    key = `${route.id} ${route.backend.cluster.name}`;
    keys.set(route, key);
  }
  return key;
}
