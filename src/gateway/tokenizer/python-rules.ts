/**
 * Python's rules for chat templates. The Jinja package follows JavaScript where Python does something else: `lstrip('\n')` ignores
 * its argument and strips all blanks, `trim` strips U+FEFF, `true | string` is `true`, floats are printed differently. Templates,
 * Qwen's among them, depend on Python's results, so the parsed template is rewritten to call the functions below.
 * docs/decisions/0038-json-prefixes-and-templates-stay-ours.md
 */
declare global {
  /**
   * Node has this since version 21 (ECMAScript proposal "JSON.parse source text access"). The compiler's library does not have it
   * yet.
   */
  interface JSON {
    rawJSON(text: string): object;
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

interface Node {
  [field: string]: unknown;
}

type Sides = 'both' | 'left' | 'right';

/** Names that no template can use, because they are no identifiers. */
const stripNames: Readonly<Record<Sides, string>> = { both: 'strip()', left: 'lstrip()', right: 'rstrip()' };
const stripMethods: ReadonlyMap<unknown, Sides> = new Map([
  ['strip', 'both'],
  ['lstrip', 'left'],
  ['rstrip', 'right'],
]);

/** Rewrites a parsed template in place. */
export function applyPythonRules(program: unknown): void {
  const waiting: unknown[] = [program];
  for (let node = waiting.pop(); node !== undefined || waiting.length > 0; node = waiting.pop()) {
    if (!isNode(node)) continue;
    // The children are queued first, because the rewritten node contains them. They are rewritten later.
    waiting.push(...childrenOf(node));
    if (node['type'] === 'CallExpression') rewriteCall(node);
    else if (node['type'] === 'FilterExpression') rewriteFilter(node);
  }
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const identifier = (value: string): Node => ({ type: 'Identifier', value });
const literal = (value: string): Node => ({ type: 'StringLiteral', value });

/** Turns a node into another one in place, since its parent is not known. */
function become(node: Node, other: Node): void {
  for (const field of Object.keys(node)) delete node[field];
  Object.assign(node, other);
}

function call(name: string, args: readonly unknown[]): Node {
  return { type: 'CallExpression', callee: identifier(name), args: [...args] };
}

function rewriteCall(node: Node): void {
  const { callee, args } = node;
  if (!isNode(callee) || callee['type'] !== 'MemberExpression' || callee['computed'] === true) return;
  const { object, property } = callee;
  const sides = isNode(property) ? stripMethods.get(property['value']) : undefined;
  if (sides !== undefined) become(node, call(stripNames[sides], [object, ...(Array.isArray(args) ? args : [])]));
}

function rewriteFilter(node: Node): void {
  const { operand, filter } = node;
  if (!isNode(filter)) return;
  const called = filter['type'] === 'CallExpression';
  const name = called ? filter['callee'] : filter;
  const args = called && Array.isArray(filter['args']) ? filter['args'] : [];
  const filterName = isNode(name) ? name['value'] : undefined;
  if (filterName === 'trim') become(node, call(stripNames.both, [operand, ...args]));
  if (filterName === 'string') {
    const isBoolean = { type: 'TestExpression', operand, negate: false, test: identifier('boolean') };
    const asBoolean = { type: 'Ternary', condition: operand, trueExpr: literal('True'), falseExpr: literal('False') };
    // A copy: the node itself becomes the choice around it.
    become(node, { type: 'Ternary', condition: isBoolean, trueExpr: asBoolean, falseExpr: { ...node } });
  }
}

function* childrenOf(node: Node): Generator<unknown> {
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) yield* value;
    else if (value instanceof Map) for (const pair of value) yield* pair;
    else yield value;
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (value === null) return 'None';
  throw new TypeError('strip: expected text');
}

/** The functions that a rewritten template calls. */
export const pythonFunctions: Readonly<Record<string, (text: unknown, characters?: unknown) => string>> =
  Object.fromEntries(
    [...stripMethods.values()].map((sides) => [
      stripNames[sides],
      (text: unknown, characters?: unknown) =>
        pythonStrip(textOf(text), sides, typeof characters === 'string' ? characters : undefined),
    ]),
  );

/** The blanks of Python's `str.isspace`. JavaScript's `trim` also strips U+FEFF, but not U+001C to U+001F and U+0085. */
const blanks =
  '\t\n\v\f\r\u001C\u001D\u001E\u001F \u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000';

/** Python's `str.strip`, `lstrip` and `rstrip`: removes any of `characters` from the ends, else blanks. */
export function pythonStrip(text: string, sides: Sides, characters: string | undefined): string {
  const removed = new Set(characters ?? blanks);
  let start = 0;
  let end = text.length;
  while (sides !== 'right' && start < end) {
    const character = String.fromCodePoint(text.codePointAt(start) ?? 0);
    if (!removed.has(character)) break;
    start += character.length;
  }
  while (sides !== 'left' && end > start) {
    const low = text.charCodeAt(end - 1);
    const length = low >= 0xdc00 && low <= 0xdfff && end - start > 1 ? 2 : 1;
    if (!removed.has(text.slice(end - length, end))) break;
    end -= length;
  }
  return text.slice(start, end);
}

/**
 * A float as Python prints it: `1e-07` and `1e+16` where JavaScript prints 1e-7 and 10000000000000000, always with a
 * point or an exponent. The digits are the same: both print the shortest text that reads back.
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
 * A number that Python and JavaScript print differently. It replaces the number among the values of a template: it
 * calculates like a number and prints as in Python.
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

/** Returns the number itself, or a `PythonNumber` if Python and JavaScript print it differently. `source`: its JSON text. */
export function asPythonNumber(value: number, source: string): number | PythonNumber {
  const text = pythonNumber(source);
  return text === String(value) ? value : new PythonNumber(value, text);
}
