import type { SecretObject, SecretRef } from './resources/secret.ts';
import type { CatalogObject } from '../../core/catalog.ts';
import { isObject } from '../../core/json.ts';

export type Secrets = ReadonlyMap<string, SecretObject>;

type SecretValue =
  | { readonly ok: true; readonly value: string }
  /** `field` is the part of the reference at fault. */
  | { readonly ok: false; readonly field: 'name' | 'key'; readonly message: string };

/** Looks up one key of a Secret. As in Kubernetes `stringData` wins over `data`. The message never holds a value. */
export function secretValue(secrets: Secrets, reference: SecretRef): SecretValue {
  const secret = secrets.get(reference.name);
  if (secret === undefined) {
    return { ok: false, field: 'name', message: `expected a Secret, there is no usable one named "${reference.name}"` };
  }
  const plain = own(secret.stringData, reference.key);
  if (plain !== undefined) return { ok: true, value: plain };
  const encoded = own(secret.data, reference.key);
  if (encoded === undefined) {
    return {
      ok: false,
      field: 'key',
      message: `expected a key of Secret "${reference.name}", it has no "${reference.key}"`,
    };
  }
  try {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    return { ok: true, value: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return {
      ok: false,
      field: 'key',
      message: `expected UTF-8 text in key "${reference.key}" of Secret "${reference.name}"`,
    };
  }
}

function own(values: Readonly<Record<string, string>> | null | undefined, key: string): string | undefined {
  return values && Object.hasOwn(values, key) ? values[key] : undefined;
}

/**
 * Names of the Secrets that Backends refer to, each with the keys that the Backends need. Objects that break the rules
 * of their kind are read as far as possible: their references may be the only valid part.
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
  return isObject(value) ? value[name] : undefined;
}
