import type { StructureVerdict } from '../core/structure.ts';
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
  { top, validate }: { readonly top: 'object' | 'any'; readonly validate?: Validator },
): StructureVerdict {
  const parsed = parse(text);
  if (parsed === undefined) return { kind: 'defective', detail: 'not JSON' };
  const { value } = parsed;
  if (top === 'object' && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    return { kind: 'defective', detail: 'not an object' };
  }
  const fault = validate?.(value);
  return fault === undefined ? { kind: 'sound' } : { kind: 'defective', detail: fault, missesSchema: true };
}
