import type { StructureResult } from '../core/structure.ts';
import type { Validator } from './compile-schema.ts';

const sound: StructureResult = { kind: 'valid' };

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Judges one text, here and now. Throws what `validate` throws: a value may be nested too deep for a recursive schema. */
export function judgeText(
  text: string,
  { top, validate }: { readonly top: 'object' | 'any'; readonly validate?: Validator },
): StructureResult {
  const parsed = parse(text);
  if (parsed === undefined) return { kind: 'invalid', detail: 'not JSON' };
  const { value } = parsed;
  if (top === 'object' && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    return { kind: 'invalid', detail: 'not an object' };
  }
  const fault = validate?.(value);
  return fault === undefined ? sound : { kind: 'invalid', detail: fault, missesSchema: true };
}
