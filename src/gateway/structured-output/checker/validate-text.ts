import type { StructureResult, TopType } from '../../core/structure.ts';
import type { Validator } from './compile-schema.ts';

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Parses and validates one text. Throws what `validate` throws: a value may be nested too deep for a recursive schema. */
export function validateText(
  text: string,
  { top, validate }: { readonly top: TopType; readonly validate?: Validator },
): StructureResult {
  const parsed = parse(text);
  if (parsed === undefined) return { kind: 'invalid', detail: 'not JSON' };
  const { value } = parsed;
  if (top === 'object' && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    return { kind: 'invalid', detail: 'not an object' };
  }
  const fault = validate?.(value);
  return fault === undefined ? { kind: 'valid' } : { kind: 'invalid', detail: fault, missesSchema: true };
}
