import { definitionName, definitionsOf } from '../../../core/reference-chain.ts';

/** What checking with a schema can cost, found without compiling it. */
export type SchemaCost =
  /** Every object is valid, and nothing else. */
  | { readonly kind: 'any-object' }
  /**
   * `text`: the schema as JSON. `steps`: the most parts of the schema that are compiled, and that are visited for one
   * value of an answer. Undefined if the time depends on more: patterns, circular references, uniqueness.
   */
  | { readonly kind: 'schema'; readonly text: string; readonly steps: number | undefined }
  | { readonly kind: 'too-large' };

/** Longest text of a schema, in characters. The largest that public APIs accept are a tenth of it. */
const maxCharacters = 256 * 1024;
const maxDepth = 512;

class TooLarge extends Error {}

/** Estimates the cost of a schema. The schema may be hostile, so `maxCharacters` bounds the time of the estimate. */
export function schemaCost(schema: Readonly<Record<string, unknown>>): SchemaCost {
  if (isAnyObject(schema)) return { kind: 'any-object' };
  try {
    const steps = createCounter(schema)();
    return { kind: 'schema', text: JSON.stringify(schema), steps: Number.isFinite(steps) ? steps : undefined };
  } catch (error) {
    if (error instanceof TooLarge) return { kind: 'too-large' };
    throw error;
  }
}

/** Keywords that do not restrict the value. */
const annotations = new Set(['$schema', '$comment', 'title', 'description', 'default', 'examples', 'strict']);

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function isAnyObject(schema: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(schema).every(
    ([key, value]) =>
      annotations.has(key) ||
      (key === 'type' && value === 'object') ||
      (key === 'additionalProperties' && value === true) ||
      ((key === 'properties' || key === 'required') && isEmpty(value)),
  );
}

/** Whether the time of a keyword is not bounded by the sizes of schema and value. In doubt, true. */
function isUnbounded(key: string, value: unknown): boolean {
  switch (key) {
    case 'pattern':
    case '$dynamicRef':
    case '$recursiveRef':
      return typeof value === 'string';
    case 'patternProperties':
      return true;
    case 'uniqueItems':
      return value === true;
    default:
      return false;
  }
}

/** Steps for each value in the schema, whatever its kind. */
const stepsPerValue = 4;
/** Number of characters of a string that are compared in one step. */
const charactersPerStep = 16;

/**
 * Counts steps. The steps of a definition count as often as the schema refers to it. Throws `TooLarge` for a schema
 * that is too long or deep. A reference is a level, so that a chain of definitions is no deeper than the stack.
 */
function createCounter(root: Readonly<Record<string, unknown>>) {
  const known = new Map<string, number | 'counting'>();
  let left = maxCharacters;

  function ofReference(reference: string, depth: number): number {
    const name = definitionName(reference);
    if (name === undefined) return Number.POSITIVE_INFINITY;
    const before = known.get(reference);
    if (before !== undefined) return before === 'counting' ? Number.POSITIVE_INFINITY : before;
    known.set(reference, 'counting');
    let steps = 0;
    for (const target of definitionsOf(root, name)) steps += count(target, depth + 1);
    known.set(reference, steps);
    return steps;
  }

  function count(value: unknown, depth: number): number {
    left -= typeof value === 'string' ? value.length + 2 : 2;
    if (left < 0 || depth > maxDepth) throw new TooLarge();
    if (typeof value === 'string') return stepsPerValue + value.length / charactersPerStep;
    if (typeof value !== 'object' || value === null) return stepsPerValue;
    let steps = stepsPerValue;
    if (Array.isArray(value)) for (const inner of value) steps += count(inner, depth + 1);
    else {
      for (const [key, inner] of Object.entries(value)) {
        left -= key.length + 2;
        const own = count(inner, depth + 1);
        // A `description` that is a text restricts nothing. If it is no text, it is the schema of a property of that
        // name.
        if (typeof inner !== 'string' || !annotations.has(key)) steps += own;
        if (isUnbounded(key, inner)) steps = Number.POSITIVE_INFINITY;
        if (key === '$ref' && typeof inner === 'string') steps += ofReference(inner, depth);
      }
    }
    return steps;
  }

  return (): number => count(root, 0);
}
