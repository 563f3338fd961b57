/**
 * The Jinja package follows JavaScript where Python's own methods do something else: `lstrip('\n')` drops its argument
 * and takes all blanks, `trim` takes U+FEFF, `true | string` is `true`. Qwen's and others' templates depend on these, so
 * the parsed template is rewritten to call functions of ours.
 */
import { pythonStrip, type Sides } from './python-strip.ts';

interface Node {
  [field: string]: unknown;
}

/** Names no template can use, being no identifiers. */
const stripNames: Readonly<Record<Sides, string>> = { both: 'strip()', left: 'lstrip()', right: 'rstrip()' };
const stripMethods: ReadonlyMap<unknown, Sides> = new Map([
  ['strip', 'both'],
  ['lstrip', 'left'],
  ['rstrip', 'right'],
]);

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const identifier = (value: string): Node => ({ type: 'Identifier', value });
const literal = (value: string): Node => ({ type: 'StringLiteral', value });

/** Turns a node into another in place, since its parents are not known. */
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

/** Rewrites a parsed template in place. */
export function applyPythonRules(program: unknown): void {
  const waiting: unknown[] = [program];
  for (let node = waiting.pop(); node !== undefined || waiting.length > 0; node = waiting.pop()) {
    if (!isNode(node)) continue;
    // First the children: what a node becomes holds them, rewritten already or still to come from here.
    waiting.push(...childrenOf(node));
    if (node['type'] === 'CallExpression') rewriteCall(node);
    else if (node['type'] === 'FilterExpression') rewriteFilter(node);
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (value === null) return 'None';
  throw new TypeError('strip: expected text');
}

/** What a rewritten template calls. */
export const pythonFunctions: Readonly<Record<string, (text: unknown, characters?: unknown) => string>> =
  Object.fromEntries(
    [...stripMethods.values()].map((sides) => [
      stripNames[sides],
      (text: unknown, characters?: unknown) =>
        pythonStrip(textOf(text), sides, typeof characters === 'string' ? characters : undefined),
    ]),
  );
