import { type ConfigMapObject, keyPairKeys, type SecretObject, type ValueRef } from './resources/secret.ts';
import type { CatalogObject } from '../../core/catalog.ts';
import { isObject } from '../../core/json.ts';

/** The Secrets and ConfigMaps that are at hand, by kind and name: `Secret/vllm-a`. */
export type Secrets = ReadonlyMap<string, Pick<SecretObject, 'data' | 'stringData'>>;

type SecretValue =
  | { readonly ok: true; readonly value: string }
  /** `field` is the part of the reference at fault. */
  | { readonly ok: false; readonly field: 'name' | 'key'; readonly message: string };

/** A ConfigMap with the fields of a Secret. Its `data` is text. */
export const asSecret = ({ data, binaryData }: ConfigMapObject): Pick<SecretObject, 'data' | 'stringData'> => ({
  stringData: data,
  data: binaryData,
});

/** Looks up one key of a Secret or ConfigMap. As in Kubernetes `stringData` wins over `data`. The message never holds a value. */
export function secretValue(secrets: Secrets, { kind, name, key }: ValueRef): SecretValue {
  const secret = secrets.get(`${kind}/${name}`);
  if (secret === undefined) {
    return { ok: false, field: 'name', message: `expected a ${kind}, there is no usable one named "${name}"` };
  }
  const plain = own(secret.stringData, key);
  if (plain !== undefined) return { ok: true, value: plain };
  const encoded = own(secret.data, key);
  if (encoded === undefined) {
    return { ok: false, field: 'key', message: `expected a key of ${kind} "${name}", it has no "${key}"` };
  }
  try {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    return { ok: true, value: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, field: 'key', message: `expected UTF-8 text in key "${key}" of ${kind} "${name}"` };
  }
}

function own(values: Readonly<Record<string, string>> | null | undefined, key: string): string | undefined {
  return values && Object.hasOwn(values, key) ? values[key] : undefined;
}

/**
 * The Secrets and ConfigMaps that Backends refer to, by kind and name, each with the keys that the Backends need. Objects
 * that break the rules of their kind are read as far as possible: their references may be the only valid part.
 */
export function referredSecrets(objects: readonly CatalogObject[]): ReadonlyMap<string, ReadonlySet<string>> {
  const wanted = new Map<string, Set<string>>();
  for (const { value } of objects) {
    for (const { kind, name, key } of referencesIn(isObject(value) ? value['spec'] : undefined)) {
      const place = `${kind}/${name}`;
      wanted.set(place, (wanted.get(place) ?? new Set()).add(key));
    }
  }
  return wanted;
}

/** The deepest reference is spec.headers[0].secretRef. */
const maxDepth = 4;

/** Every reference in a spec, by the names of the fields: so no list of fields can be out of date. */
export function referencesIn(value: unknown, depth = 0): readonly ValueRef[] {
  if (depth > maxDepth || typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([field, inner]) => {
    const kind = /(secret|configMap)Ref$/i.exec(field)?.[1]?.toLowerCase();
    if (kind === undefined) return referencesIn(inner, depth + 1);
    const [name, key] = isObject(inner) ? [inner['name'], inner['key']] : [];
    if (typeof name !== 'string') return [];
    const keys = key === undefined ? Object.values(keyPairKeys) : [key];
    return keys.flatMap((one): readonly ValueRef[] =>
      typeof one === 'string' ? [{ kind: kind === 'secret' ? 'Secret' : 'ConfigMap', name, key: one }] : [],
    );
  });
}
