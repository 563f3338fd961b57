import type { Backend, Model, Snapshot } from '../core/catalog.ts';

/** The backends that the previous snapshot's routes used, by name. */
export function previousBackends(previous: Snapshot | undefined): ReadonlyMap<string, Backend> {
  const routes = [...(previous?.models.values() ?? [])].flatMap((model) => model.routes);
  return new Map(routes.map(({ backend }) => [backend.name, backend]));
}

/**
 * The last good version of a Model that has turned bad, on the backends as they are now. Undefined when there was none,
 * or when every backend it was served by is gone: a removed Backend must not go on serving.
 */
export function keepModel(last: Model | undefined, usable: ReadonlyMap<string, Backend>): Model | undefined {
  const routes = (last?.routes ?? []).flatMap((route) => {
    const backend = usable.get(route.backend.name);
    return backend ? [{ ...route, backend }] : [];
  });
  return last && routes.length > 0 ? { ...last, routes } : undefined;
}
