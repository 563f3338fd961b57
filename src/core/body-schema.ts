import { z } from 'zod';
import { isObject, type JsonObject } from './json.ts';
import { hasShortChains } from './reference-chain.ts';

/** The parts that the schemas of both request bodies are built from. */

/** Deepest nesting of a caller's own JSON. A body that is read in a worker is copied to the main thread, whose stack is limited. */
const maxDepth = 256;

function isWithin(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(levels - 1, inner));
}

/** A JSON object that is passed on unread, and as the very object that was parsed: a tool's input. Its text may be kept. */
export const jsonObject = z
  .custom<JsonObject>(isObject, 'Invalid input: expected an object')
  .refine((value) => isWithin(maxDepth, value), { message: `nested deeper than ${maxDepth} levels`, abort: true });

/** Longest chain of references in a caller's schema. */
const maxReferences = 128;

/** A JSON Schema, which is passed on unread. */
export const jsonSchema = jsonObject.refine(
  (value) => hasShortChains(value, maxReferences),
  `refers from definition to definition more than ${maxReferences} times in a row`,
);

/**
 * Schemas inside those of `listOf` and `byType`, which zod cannot see: the items of a list, or the accepted types of an object.
 * The description of the API is generated from it (scripts/callers-api).
 */
type InnerSchemas =
  | { readonly item: z.ZodType }
  | { readonly types: readonly z.ZodType[]; readonly hasOthers: boolean };
export const innerSchemas = new WeakMap<object, InnerSchemas>();

type Issues = z.core.$ZodRawIssue[];

/**
 * Converts what a schema has read, or adds issues. zod's `transform` assigns a function to each value that it converts. V8 makes such a
 * function in the old generation, where it keeps the value alive, a whole conversation, until the whole heap is collected
 * (docs/decisions/0022).
 */
export function converted<T extends z.ZodType, Output>(
  schema: T,
  convert: (value: z.output<T>, issues: Issues) => Output,
): z.ZodType<Output> {
  const read: z.ZodType = schema;
  const checked = read.check((payload) => {
    // oxlint-disable-next-line typescript/consistent-type-assertions -- the schema has read it
    if (payload.issues.length === 0) payload.value = convert(payload.value as z.output<T>, payload.issues);
  });
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the check puts it there
  return checked as z.ZodType<Output>;
}

/**
 * A list that is read up to its first invalid item. zod's own array reads all of it: for a body of a million empty
 * messages (three megabytes) it spends a gigabyte and three seconds on issues, of which the caller sees one.
 */
export function listOf<T extends z.ZodType>(item: T, bounds: { readonly min?: number; readonly max?: number } = {}) {
  const { min = 0, max = Infinity } = bounds;
  const list = converted(z.array(z.unknown()).min(min).max(max), (values, issues): z.output<T>[] => {
    const items: z.output<T>[] = [];
    const keep = (data: z.output<T>): unknown => items.push(data);
    return values.every((value, key) => readField(item, { key, value, issues, keep })) ? items : z.NEVER;
  });
  innerSchemas.set(list, { item });
  return list;
}

/** An object whose fields all have one schema, read up to the first invalid field. */
export function recordOf<T extends z.ZodType>(field: T) {
  return converted(z.record(z.string(), z.unknown()), (values, issues): Record<string, z.output<T>> => {
    const fields: (readonly [string, z.output<T>])[] = [];
    const isValid = Object.entries(values).every(([key, value]) =>
      readField(field, { key, value, issues, keep: (data) => fields.push([key, data]) }),
    );
    return isValid ? Object.fromEntries(fields) : z.NEVER;
  });
}

interface FieldReading<T> {
  readonly key: PropertyKey;
  readonly value: unknown;
  readonly issues: Issues;
  readonly keep: (data: T) => void;
}

/** Reads one field. Returns false, with its issues reported under its key, when the value does not match the schema. */
function readField<T extends z.ZodType>(schema: T, reading: FieldReading<z.output<T>>): boolean {
  const { key, value, issues, keep } = reading;
  const read = schema.safeParse(value);
  if (read.success) keep(read.data);
  else reportIssues(read.error, issues, [key]);
  return read.success;
}

/** Reports the issues that another schema has found. `path` is put before their own paths. */
export function reportIssues(error: z.ZodError, issues: Issues, path: readonly PropertyKey[] = []): void {
  for (const issue of error.issues) {
    // oxlint-disable-next-line typescript/consistent-type-assertions -- a finished issue is a raw one with its message
    issues.push({ ...issue, path: [...path, ...issue.path] } as z.core.$ZodRawIssue);
  }
}

type Schemas = Readonly<Record<string, z.ZodType>>;

/** How to read an object whose type has no schema. */
interface OtherTypes<R extends z.ZodType> {
  /** Known types that are refused, with the reason. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Reads every other type. Absent: other types are refused with a message that lists the accepted ones. */
  readonly rest?: R;
}

/**
 * An object that is read by the schema that its `type` names. It differs from zod's unions: the issues of one type do
 * not hide those of another, other types may have a schema, and a refusal lists only the accepted types.
 */
export function byType<S extends Schemas, R extends z.ZodType = z.ZodNever>(schemas: S, others: OtherTypes<R> = {}) {
  const { refused = {}, rest } = others;
  type Read = z.output<S[keyof S]> | z.output<R>;
  // oxlint-disable-next-line typescript/consistent-type-assertions -- Object.entries forgets the type of the values
  const table = new Map(Object.entries(schemas) as [unknown, z.ZodType<Read>][]);
  const expected = `expected ${[...table.keys()].map((type) => `'${String(type)}'`).join(' | ')}`;

  const typed = converted(z.unknown(), (value, issues): Read => {
    if (!isObject(value)) {
      issues.push({ code: 'custom', input: value, message: 'expected an object with a type' });
      return z.NEVER;
    }
    const { type } = value;
    // oxlint-disable-next-line typescript/consistent-type-assertions -- its output is a part of Read
    const schema = table.get(type) ?? (rest as z.ZodType<Read> | undefined);
    const refusal = typeof type === 'string' && Object.hasOwn(refused, type) ? refused[type] : undefined;
    if (refusal !== undefined || schema === undefined) {
      issues.push({ code: 'custom', input: value, path: ['type'], message: refusal ?? expected });
      return z.NEVER;
    }
    const read = schema.safeParse(value);
    if (read.success) return read.data;
    reportIssues(read.error, issues);
    return z.NEVER;
  });
  innerSchemas.set(typed, { types: Object.values(schemas), hasOthers: rest !== undefined });
  return typed;
}
