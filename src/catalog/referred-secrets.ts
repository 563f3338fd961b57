import type { CatalogObject } from '../core/catalog.ts';
import { isFields } from './is-fields.ts';

/**
 * Names of the Secrets that Backends refer to, each with the keys that are asked of it. Objects that break the rules of
 * their kind are read as far as that goes: what they refer to may be all that is in order with them.
 */
export function referredSecrets(objects: readonly CatalogObject[]): ReadonlyMap<string, ReadonlySet<string>> {
  const wanted = new Map<string, Set<string>>();
  for (const { value } of objects) {
    const spec = fieldOf(value, 'spec');
    for (const reference of [
      fieldOf(fieldOf(spec, 'credentials'), 'secretRef'),
      fieldOf(fieldOf(spec, 'tls'), 'caSecretRef'),
    ]) {
      const [name, key] = [fieldOf(reference, 'name'), fieldOf(reference, 'key')];
      if (typeof name !== 'string' || typeof key !== 'string') continue;
      wanted.set(name, (wanted.get(name) ?? new Set()).add(key));
    }
  }
  return wanted;
}

function fieldOf(value: unknown, name: string): unknown {
  return isFields(value) ? value[name] : undefined;
}
