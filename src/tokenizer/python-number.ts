declare global {
  /** In Node since version 21 (ECMAScript proposal "JSON.parse source text access"); not in the compiler's library yet. */
  interface JSON {
    rawJSON(text: string): object;
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

/**
 * A float as Python prints it: `1e-07` and `1e+16` where JavaScript says 1e-7 and 10000000000000000, always with a point or an exponent.
 * The digits are the same, both print the shortest that read back.
 */
export function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  const [mantissa = '0', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const sign = exponent < 0 ? '-' : '+';
    return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  const text = Object.is(value, -0)
    ? '-0'
    : value.toFixed(Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - exponent));
  return text.includes('.') ? text : `${text}.0`;
}

/**
 * A number that Python would print otherwise than JavaScript. It stands in for a number inside the values of a template:
 * it reckons as one and is written as Python writes it.
 */
export class PythonNumber extends Number {
  readonly #text: string;

  constructor(value: number, text: string) {
    super(value);
    this.#text = text;
  }

  override toString(): string {
    return this.#text;
  }

  override toFixed(): string {
    return this.#text;
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.#text);
  }
}

/** How Python prints a number of JSON text, which it reads as an integer unless it has a point or an exponent. */
function pythonNumber(source: string): string {
  if (/[.eE]/.test(source)) return pythonFloat(Number(source));
  return source === '-0' ? '0' : source;
}

/** The number, or what stands in for it when the two languages print it differently. */
export function asPythonNumber(value: number, source: string): number | PythonNumber {
  const text = pythonNumber(source);
  return text === String(value) ? value : new PythonNumber(value, text);
}
