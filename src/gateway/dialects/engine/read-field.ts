import { isObject, type JsonObject, parseJson } from '../../../core/json.ts';

/**
 * Reads the fields of engines' answers in every JSON type that engines write them in. `unreadable`: the field has a value that
 * means nothing to us. Its attempt fails, because an answer without the field would be a different one.
 */
export const unreadable = Symbol('unreadable');

/** Whether a content type is that of JSON, or of a format that is written in it. */
export const isJsonType = (contentType: string): boolean =>
  /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType);

/** A name, an id or a code: text that is not empty, or a number. */
export function wordOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A number, or the text of one that is not negative. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value !== 'string') return typeof value === 'number' ? value : undefined;
  return /^\s*\d{1,15}(?:\.\d{1,15})?\s*$/.test(value) ? Number(value) : undefined;
}

/** A whole number from 0, or the text of one. */
export function countOf(value: unknown): number | undefined {
  const number = numberOf(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** An object, a list that begins with one, or the JSON text of one. */
export function objectOf(value: unknown): JsonObject | undefined {
  const parsed = typeof value === 'string' ? parseJson(value) : value;
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  return isObject(first) ? first : undefined;
}

/** Engines write null and an empty text for nothing. */
export const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

/** The objects of a list. One object stands for a list of one, and the JSON text of a list for the list. */
export function objectsOf(value: unknown): readonly JsonObject[] | typeof unreadable {
  if (isAbsent(value) || value === false) return [];
  const parsed = typeof value === 'string' ? (parseJson(value) ?? unreadable) : value;
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const given = list.filter((item) => !isAbsent(item));
  return given.every(isObject) ? given : unreadable;
}

/** The word by which an engine says why a choice ended. Undefined: the choice has not ended. */
export function finishWordOf(value: unknown): string | typeof unreadable | undefined {
  if (isAbsent(value) || value === false || value === 0) return undefined;
  if (value === true) return 'stop';
  const first: unknown = Array.isArray(value) ? value[0] : value;
  const named: unknown = isObject(first) ? (first['type'] ?? first['reason'] ?? first['name']) : first;
  return wordOf(named) ?? unreadable;
}
