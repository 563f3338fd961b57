import type { SecretObject, SecretRef } from './resources/secret.ts';

export type Secrets = ReadonlyMap<string, SecretObject>;

export type SecretValue =
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
