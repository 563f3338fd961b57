/**
 * Checks texts against schemas in its own thread, one after another. The thread is ended when a pattern or a schema
 * takes too long.
 */
import type { StructureResult, TopType } from '../../core/structure.ts';
import { compileSchema, createValidatorCache } from './compile-schema.ts';
import { validateText } from './validate-text.ts';

/** One check, as it is sent to the thread. */
export interface CheckTask {
  readonly text: string;
  /** The schema as JSON text. The thread remembers the compiled schema by this text. */
  readonly schema?: string;
  readonly top: TopType;
}

export function createFunctions() {
  // A compiled schema takes about fifty times the memory of its text: at worst 100 MB, of the 256 MB that the thread may
  // use.
  const cache = createValidatorCache({ compile: compileSchema, maxCount: 512, maxCharacters: 2_000_000 });
  return {
    check: ({ text, schema, top }: CheckTask): StructureResult => {
      if (schema === undefined) return validateText(text, { top });
      const validate = cache.get(schema);
      if (validate === undefined) return { kind: 'unknown', reason: 'schema' };
      try {
        return validateText(text, { top, validate });
      } catch {
        // The value is nested deeper than the stack allows.
        return { kind: 'unknown', reason: 'time' };
      }
    },
  };
}
