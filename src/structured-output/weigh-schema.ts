/** What a schema is before anything is compiled, told without running it. */
export type SchemaWeight =
  /** Any object will do, and nothing else would. */
  | { readonly kind: 'any-object' }
  /**
   * `text`: as JSON. `steps`: what is looked at, at most, for one value of an answer, and what there is to compile; undefined
   * where time depends on more than that: patterns, references in circles, uniqueness.
   */
  | { readonly kind: 'schema'; readonly text: string; readonly steps: number | undefined }
  | { readonly kind: 'too-large' };

/** Of the schema's text, in characters. The largest that public APIs take are a tenth of it. */
const maxCharacters = 256 * 1024;
const maxDepth = 512;

/** Keywords that say nothing about the value. */
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

/** Whether the time a keyword takes is not bounded by the sizes of schema and value. Better one too many. */
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

/** What a value of the schema weighs, whatever it is. */
const stepsPerValue = 4;
/** Strings are compared this much faster than values are visited. */
const charactersPerStep = 16;

class TooLarge extends Error {}

const definition = /^#\/(?:\$defs|definitions)\/(?<name>[^/~%]+)$/;

/** Counts steps, those of a definition as often as it is referred to. Throws `TooLarge` for what is not worth counting. */
function createCounter(root: Readonly<Record<string, unknown>>) {
  const known = new Map<string, number | 'counting'>();
  let left = maxCharacters;

  function ofReference(reference: string): number {
    const name = definition.exec(reference)?.groups?.['name'];
    if (name === undefined) return Number.POSITIVE_INFINITY;
    const before = known.get(reference);
    if (before !== undefined) return before === 'counting' ? Number.POSITIVE_INFINITY : before;
    known.set(reference, 'counting');
    let steps = 0;
    for (const place of [root['$defs'], root['definitions']]) {
      const target: unknown =
        typeof place === 'object' && place !== null && Object.hasOwn(place, name)
          ? Reflect.get(place, name)
          : undefined;
      steps += count(target, 1);
    }
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
        // A description is text; a property of that name is a schema.
        if (typeof inner !== 'string' || !annotations.has(key)) steps += own;
        if (isUnbounded(key, inner)) steps = Number.POSITIVE_INFINITY;
        if (key === '$ref' && typeof inner === 'string') steps += ofReference(inner);
      }
    }
    return steps;
  }

  return (): number => count(root, 0);
}

/** Weighs a schema, which may be hostile: in a time bounded by the largest that is taken at all. */
export function weighSchema(schema: Readonly<Record<string, unknown>>): SchemaWeight {
  if (isAnyObject(schema)) return { kind: 'any-object' };
  try {
    const steps = createCounter(schema)();
    return { kind: 'schema', text: JSON.stringify(schema), steps: Number.isFinite(steps) ? steps : undefined };
  } catch (error) {
    if (error instanceof TooLarge) return { kind: 'too-large' };
    throw error;
  }
}
