import { Environment } from '@huggingface/jinja';
import { PythonNumber } from './python-number.ts';

interface RuntimeValue {
  readonly value: unknown;
}

const isRuntimeValue = (value: unknown): value is RuntimeValue =>
  typeof value === 'object' && value !== null && 'value' in value;

/** The package makes objects of what it does not know, so a float of its own is made and given the other number. */
function floatOf(number: PythonNumber): unknown {
  const float: unknown = new Environment().set('number', 0.5);
  if (isRuntimeValue(float)) Reflect.set(float, 'value', number);
  return float;
}

/**
 * Puts the `PythonNumber`s of `source` into the values that the Jinja package made of it. Looks at both side by side; texts
 * are not copied.
 */
export function placeNumbers(made: unknown, source: unknown): void {
  if (!isRuntimeValue(made) || typeof source !== 'object' || source === null) return;
  const { value } = made;
  if (Array.isArray(value) && Array.isArray(source)) {
    source.forEach((part: unknown, index) => {
      if (part instanceof PythonNumber) value[index] = floatOf(part);
      else placeNumbers(value[index], part);
    });
  } else if (value instanceof Map) {
    for (const [key, part] of Object.entries(source)) {
      if (part instanceof PythonNumber) value.set(key, floatOf(part));
      else placeNumbers(value.get(key), part);
    }
  }
}
