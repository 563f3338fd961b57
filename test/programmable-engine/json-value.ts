/** An object of JSON whose fields have not been looked at yet. */
export type JsonObject = { readonly [key: string]: unknown };

/** True for objects; false for arrays and null, which JavaScript also calls objects. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object, or an empty one in place of anything else: reading fields of a caller's JSON then needs no branches. */
export function objectOr(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The array, or an empty one in place of anything else. */
export function arrayOr(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function stringOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

/** The JSON that a text holds, or the text itself when it holds none. */
export function parsedOr(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return source;
  }
}
