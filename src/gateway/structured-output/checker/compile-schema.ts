import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isObject, type JsonObject } from '../../../core/json.ts';

/**
 * Returns the fault of a value, as a keyword and its place in the schema, without any part of the value. Undefined: the value is
 * valid. May throw a RangeError on a value that is nested too deeply.
 */
export type Validator = (value: unknown) => string | undefined;

/**
 * Compiles a schema given as JSON text. Undefined when the text is no schema, refers to something outside itself (nothing is
 * fetched), or needs a feature that is not supported.
 */
export function compileSchema(text: string): Validator | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const validate = isObject(parsed) ? compileObject(parsed, text.length > nestedCharacters) : undefined;
    return validate && ((value) => (validate(value) === true ? undefined : describe(validate.errors ?? [])));
  } catch {
    return undefined;
  }
}

/** Keeps the compiled schemas used last, by their text: at most `maxCount`, and of at most `maxCharacters` together. */
export function createValidatorCache(options: {
  readonly compile: (schema: string) => Validator | undefined;
  readonly maxCount: number;
  readonly maxCharacters: number;
}) {
  const { compile, maxCount, maxCharacters } = options;
  // A map keeps the order of insertion: the first entry is the one not used for longest.
  const kept = new Map<string, { readonly validate: Validator | undefined }>();
  let characters = 0;

  function forget(schema: string): void {
    if (kept.delete(schema)) characters -= schema.length;
  }

  return {
    /** Returns undefined for a schema that cannot be compiled, which is remembered, too. */
    get: (schema: string): Validator | undefined => {
      const entry = kept.get(schema) ?? { validate: compile(schema) };
      forget(schema);
      kept.set(schema, entry);
      characters += schema.length;
      for (const oldest of kept.keys()) {
        if (kept.size <= maxCount && characters <= maxCharacters) break;
        forget(oldest);
      }
      return entry.validate;
    },
    size: (): { readonly count: number; readonly characters: number } => ({ count: kept.size, characters }),
  };
}

function compileObject(schema: JsonObject, allErrors: boolean): ValidateFunction | undefined {
  const adapted = adaptSchema(schema);
  if (drafts[adapted.draft].isSchema?.(adapted.schema) !== true) return undefined;
  const validate = compilerFor(adapted.draft, allErrors).compile(adapted.schema);
  // `$async`, the library's own invention, would answer with a promise.
  return '$async' in validate ? undefined : validate;
}

interface AdaptedSchema {
  readonly draft: '7' | '2020-12';
  readonly schema: JsonObject;
}

/**
 * Rewrites a schema, without changing its meaning, so that a validator of one draft understands it: the draft that `$schema`
 * names, else 2020-12, except where `items` is a list, which only older drafts know.
 */
function adaptSchema(root: JsonObject): AdaptedSchema {
  let hasTuples = false;

  function adapt(value: unknown): unknown {
    if (!isObject(value)) return value;
    if (Array.isArray(value['items'])) hasTuples = true;
    const entries = Object.entries(value).map(([key, inner]) => [key, adaptAt(key, inner)] as const);
    const bounded = modernBound(Object.fromEntries(entries), 'exclusiveMinimum', 'minimum');
    return admitNull(modernBound(bounded, 'exclusiveMaximum', 'maximum'));
  }

  function adaptAt(key: string, value: unknown): unknown {
    const position = positions.get(key);
    if (position === undefined) return value;
    if (Array.isArray(value)) return position === 'map' ? value : value.map(adapt);
    if (position !== 'map' || !isObject(value)) return adapt(value);
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, adapt(inner)]));
  }

  const { $schema, ...schema } = root;
  const adapted = adapt(schema);
  const named = typeof $schema === 'string' ? $schema : '';
  const isOld = /draft-0[3-7]/.test(named) || (hasTuples && !named.includes('2020-12'));
  return { draft: isOld ? '7' : '2020-12', schema: isObject(adapted) ? adapted : {} };
}

/** Keywords whose value is a schema, a list of schemas or a map of them. The value of any other (`enum`, `default`) is data. */
const positions: ReadonlyMap<string, 'schema' | 'list' | 'map'> = new Map([
  ...['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'items', 'not'].map(
    (key) => [key, 'schema'] as const,
  ),
  ...['propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties'].map((key) => [key, 'schema'] as const),
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((key) => [key, 'list'] as const),
  ...['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'].map(
    (key) => [key, 'map'] as const,
  ),
]);

/** Keywords, besides `type` and `enum`, that may refuse a null. */
const mayRefuseNull = ['const', 'anyOf', 'oneOf', 'allOf', '$ref', '$dynamicRef', 'not', 'if'];
/** Keywords that references lead to: they stay where they are. */
const keptOutside = new Set(['$id', '$anchor', '$dynamicAnchor', '$defs', 'definitions']);

const withNull = (values: readonly unknown[], added: unknown): readonly unknown[] =>
  values.includes(added) ? values : [...values, added];

/** Translates OpenAPI 3.0's `nullable`, common in tool schemas: null is allowed whatever else the schema says. */
function admitNull(schema: JsonObject): JsonObject {
  if (!('nullable' in schema)) return schema;
  const { nullable, ...rest } = schema;
  if (nullable !== true) return rest;
  if (mayRefuseNull.some((key) => key in rest)) {
    const entries = Object.entries(rest);
    return {
      ...Object.fromEntries(entries.filter(([key]) => keptOutside.has(key))),
      anyOf: [{ type: 'null' }, Object.fromEntries(entries.filter(([key]) => !keptOutside.has(key)))],
    };
  }
  const { type, enum: members } = rest;
  return {
    ...rest,
    ...(type === undefined ? {} : { type: withNull(Array.isArray(type) ? type : [type], 'null') }),
    ...(Array.isArray(members) ? { enum: withNull(members, null) } : {}),
  };
}

/** Translates draft 4's and OpenAPI 3.0's `exclusiveMinimum: true` beside `minimum`. */
function modernBound(schema: JsonObject, exclusive: string, inclusive: string): JsonObject {
  const flag = schema[exclusive];
  if (typeof flag !== 'boolean') return schema;
  const { [exclusive]: _, ...rest } = schema;
  if (!flag) return rest;
  const { [inclusive]: bound, ...others } = rest;
  return bound === undefined ? others : { ...others, [exclusive]: bound };
}

/** The characters that may follow a backslash in a pattern without the `u` flag. With the flag, other characters are errors. */
const knownEscapes = /[^a-zA-Z]|[bBcdDfknrsStuvwWx]/;

function hasUnknownEscape(pattern: string): boolean {
  for (const [, escaped = ''] of pattern.matchAll(/\\(.)/gs)) if (!knownEscapes.test(escaped)) return true;
  return false;
}

/**
 * Compiles a pattern with the `u` flag, as JSON Schema 2020-12 §6.4 wants it, or else without: `[\w-.]` and `\-` are common
 * and harmless. Throws on escapes of other languages: `\A` would match a plain A here, and make a valid answer invalid.
 */
function compilePattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    if (hasUnknownEscape(pattern)) throw error;
    return new RegExp(pattern);
  }
}

/** Most characters of a fault's description, which is logged. */
const maxDetail = 160;

const options: Options = {
  // Unknown keywords are ignored.
  strict: false,
  // `format` is an annotation (JSON Schema 2020-12 §7.2.1), and engines do not promise to follow it.
  validateFormats: false,
  logger: false,
  // A property named `constructor` is missing if only the prototype has one.
  ownProperties: true,
  // 1e400 is a number in JSON, although JavaScript has no such number.
  strictNumbers: false,
  // 19.99 is a multiple of 0.01, although not in binary.
  multipleOfPrecision: 6,
  // A few nested references that are inlined again and again become megabytes of code.
  inlineRefs: false,
  // Optimizing takes three times as long as it saves.
  code: { optimize: false, regExp: Object.assign(compilePattern, { code: 'compilePattern' }) },
};

/**
 * Code that stops at the first fault has each keyword nested in the keyword before it. A thousand properties take seconds to
 * compile and overflow the stack. Beyond this many characters of schema the code collects all faults.
 */
const nestedCharacters = 16 * 1024;

/** The schemas of the two drafts, by which a caller's schema is validated as data. */
const drafts = {
  '7': { isSchema: new Ajv(options).getSchema('http://json-schema.org/draft-07/schema') },
  '2020-12': { isSchema: new Ajv2020(options).getSchema('https://json-schema.org/draft/2020-12/schema') },
};

/**
 * Makes a compiler for one schema only: a compiler remembers the ids of schemas, and one caller's schema must not resolve
 * another one's references.
 */
function compilerFor(draft: AdaptedSchema['draft'], allErrors: boolean): Ajv | Ajv2020 {
  const own = { ...options, allErrors, meta: false, validateSchema: false };
  // JSON Schema draft 7 §8.3: keywords beside a `$ref` are not looked at.
  const made = draft === '7' ? new Ajv({ ...own, ignoreKeywordsWithRef: true }) : new Ajv2020(own);
  // `id` is draft 4's name of `$id`. The library refuses it, but here it does no harm.
  return made.removeKeyword('id');
}

function describe(errors: readonly ErrorObject[]): string {
  // The last error is the outermost. If an `anyOf` fails, it names the `anyOf` and not one of its branches.
  const { keyword = '', schemaPath = '' } = errors.at(-1) ?? {};
  // oxlint-disable-next-line no-control-regex -- names in a schema may hold anything
  return `${keyword} at ${schemaPath}`.replaceAll(/[\u0000-\u001F\u007F]/g, '?').slice(0, maxDetail);
}
