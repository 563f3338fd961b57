import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isObject, type JsonObject } from '../core/json.ts';
import { type AdaptedSchema, adaptSchema } from './adapt-schema.ts';

/** Letters that mean something after a backslash where the `u` flag does not watch over them. */
const knownEscapes = /[^a-zA-Z]|[bBcdDfknrsStuvwWx]/;

function hasUnknownEscape(pattern: string): boolean {
  for (const [, escaped = ''] of pattern.matchAll(/\\(.)/gs)) if (!knownEscapes.test(escaped)) return true;
  return false;
}

/**
 * A schema's pattern, as JSON Schema 2020-12 §6.4 wants it (with Unicode), else without: `[\w-.]` and `\-` are
 * common and harmless. Throws on what another language means: `\A` would be a plain A here, and a sound answer a defect.
 */
function compilePattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    if (hasUnknownEscape(pattern)) throw error;
    return new RegExp(pattern);
  }
}

/** Says what is wrong with a value: a keyword and its place in the schema, nothing of the value. Undefined: nothing. */
export type Validator = (value: unknown) => string | undefined;

/** What goes to a log has an end. */
const maxDetail = 160;

const options: Options = {
  // Unknown keywords and formats are somebody else's: they say nothing to us.
  strict: false,
  // An annotation (JSON Schema 2020-12 §7.2.1), and engines do not promise it.
  validateFormats: false,
  logger: false,
  // A property named `constructor` is missing where only the prototype has one.
  ownProperties: true,
  // 1e400 is a number of JSON, if not one of ours.
  strictNumbers: false,
  // 19.99 is a multiple of 0.01, if not in binary.
  multipleOfPrecision: 6,
  // Inlined over and over, a few nested references are megabytes of code.
  inlineRefs: false,
  // What it saves in running, it costs thrice in compiling.
  code: { optimize: false, regExp: Object.assign(compilePattern, { code: 'compilePattern' }) },
};

/**
 * Where the code would stop at the first fault, each keyword's stands inside that of the one before: a thousand properties
 * overflow the stack, and take seconds. Beyond this many characters of schema all faults are collected instead.
 */
const nestedCharacters = 16 * 1024;

/** A caller's schema is data to these two. */
const drafts = {
  '7': { isSchema: new Ajv(options).getSchema('http://json-schema.org/draft-07/schema') },
  '2020-12': { isSchema: new Ajv2020(options).getSchema('https://json-schema.org/draft/2020-12/schema') },
};

/**
 * A compiler of its own for each schema: the ids that schemas give themselves and their parts stay in the compiler, and
 * one caller's must not answer another's references.
 */
function compilerFor(draft: AdaptedSchema['draft'], allErrors: boolean): Ajv | Ajv2020 {
  const own = { ...options, allErrors, meta: false, validateSchema: false };
  // JSON Schema draft 7 §8.3: keywords beside a `$ref` are not looked at.
  const made = draft === '7' ? new Ajv({ ...own, ignoreKeywordsWithRef: true }) : new Ajv2020(own);
  // Draft 4's name of `$id`: refused by the library, harmless to us.
  return made.removeKeyword('id');
}

function describe(errors: readonly ErrorObject[]): string {
  // The last one is the outermost: of an `anyOf` that fails, itself and not its branches.
  const { keyword = '', schemaPath = '' } = errors.at(-1) ?? {};
  // oxlint-disable-next-line no-control-regex -- names in a schema may hold anything
  return `${keyword} at ${schemaPath}`.replaceAll(/[\u0000-\u001F\u007F]/g, '?').slice(0, maxDetail);
}

function compileObject(schema: JsonObject, allErrors: boolean): ValidateFunction | undefined {
  const adapted = adaptSchema(schema);
  if (drafts[adapted.draft].isSchema?.(adapted.schema) !== true) return undefined;
  const validate = compilerFor(adapted.draft, allErrors).compile(adapted.schema);
  // `$async`, the library's own invention, would answer with a promise.
  return '$async' in validate ? undefined : validate;
}

/**
 * Compiles a schema given as JSON text. Undefined when it is not a schema, refers to what is not in it, or needs what we do
 * not have: nothing is ever fetched. The validator may throw a RangeError on what is nested too deep.
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
