import type { CatalogObject } from '../../core/catalog.ts';
import { isObject } from '../../core/json.ts';

// The fields of an object that may break the rules of its kind.

type Fields = Readonly<Record<string, unknown>>;

const groupOf = ({ value }: CatalogObject, name: 'metadata' | 'spec'): Fields => {
  const group = isObject(value) ? value[name] : undefined;
  return isObject(group) ? group : {};
};

/** Empty where there is none. */
export const metadataOf = (object: CatalogObject): Fields => groupOf(object, 'metadata');
export const specOf = (object: CatalogObject): Fields => groupOf(object, 'spec');

/** Undefined: it is no text. */
export function nameOf(object: CatalogObject): string | undefined {
  const { name } = metadataOf(object);
  return typeof name === 'string' ? name : undefined;
}

export function kindOf({ value }: CatalogObject): string | undefined {
  const kind = isObject(value) ? value['kind'] : undefined;
  return typeof kind === 'string' ? kind : undefined;
}

export const annotationsOf = (object: CatalogObject): Fields => {
  const { annotations } = metadataOf(object);
  return isObject(annotations) ? annotations : {};
};

/** The id of a Model. Undefined: it is no text. */
export function modelIdOf(object: CatalogObject): string | undefined {
  const { id } = specOf(object);
  return typeof id === 'string' ? id : undefined;
}

/** The names of the Backends of a Model's routes, in their order. Undefined where a route names none. */
export function backendsOf(object: CatalogObject): readonly (string | undefined)[] {
  const { routes } = specOf(object);
  return (Array.isArray(routes) ? routes : []).map((route: unknown) => {
    const name = isObject(route) ? route['backend'] : undefined;
    return typeof name === 'string' ? name : undefined;
  });
}
