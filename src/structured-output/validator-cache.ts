import type { Validator } from './compile-schema.ts';

export interface ValidatorCache {
  /** Undefined: the schema cannot be compiled, which is remembered too. */
  readonly get: (schema: string) => Validator | undefined;
  readonly size: () => { readonly count: number; readonly characters: number };
}

/** Compiled schemas by their text, those used last: at most `maxCount`, and of at most `maxCharacters` together. */
export function createValidatorCache(options: {
  readonly compile: (schema: string) => Validator | undefined;
  readonly maxCount: number;
  readonly maxCharacters: number;
}): ValidatorCache {
  const { compile, maxCount, maxCharacters } = options;
  // A map keeps its order of insertion: the first is the one not used for longest.
  const kept = new Map<string, { readonly validate: Validator | undefined }>();
  let characters = 0;

  function forget(schema: string): void {
    if (kept.delete(schema)) characters -= schema.length;
  }

  return {
    get: (schema) => {
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
    size: () => ({ count: kept.size, characters }),
  };
}
