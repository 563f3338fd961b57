import type * as z from 'zod';
import { isFields } from './is-fields.ts';

/**
 * The object without the fields of its spec that hold nothing (`tls:` and a line break, null in JSON) where a schema
 * refused that: as in the API server they are not there. Undefined when there was no such field. A null inside a list
 * stays a fault, and so does an unknown field.
 */
export function withoutEmptyFields(value: unknown, { issues }: z.ZodError): unknown {
  const rest = structuredClone(value);
  let removed = false;
  for (const { path } of issues) {
    const name = path.at(-1);
    const group = path.slice(0, -1).reduce<unknown>(stepInto, rest);
    if (path[0] !== 'spec' || typeof name !== 'string' || !isFields(group) || group[name] !== null) continue;
    removed = Reflect.deleteProperty(group, name);
  }
  return removed ? rest : undefined;
}

function stepInto(value: unknown, name: PropertyKey): unknown {
  if (Array.isArray(value)) return value[Number(name)];
  return isFields(value) && typeof name === 'string' && Object.hasOwn(value, name) ? value[name] : undefined;
}
