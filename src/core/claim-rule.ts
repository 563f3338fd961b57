import { celEnv, isCelError, parse, plan } from '@bufbuild/cel';
import { identityBounds } from './identity.ts';

const { maxRuleLength } = identityBounds;

/**
 * Macros in one expression that walk a list (`all`, `exists`, `map`, `filter`). Inside each other, they would multiply the size of a
 * token. All else takes time in proportion to the token: regular expressions are RE2's.
 */
const maxWalks = 1;

/** An expression over the claims of a token. Undefined: it has no value for them, because a claim is missing or of another type. */
export type Rule = (claims: object) => unknown;

/** Compiles CEL over `claims`. Throws an error whose message says what was expected. */
export function compileRule(text: string): Rule {
  if (text.length > maxRuleLength) throw new Error(`expected at most ${maxRuleLength} characters`);
  const parsed = parse(text);
  const { walks, names } = partsOf(parsed);
  if (walks > maxWalks) throw new Error(`expected at most ${maxWalks} of all, exists, exists_one, map and filter`);
  const stranger = [...names].find((name) => name !== 'claims');
  if (stranger !== undefined) throw new Error(`expected "claims", and found "${stranger}"`);
  const evaluate = plan(celEnv(), parsed);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- claims are JSON, which CEL reads as maps, lists and scalars
  const valueFor = (claims: object) => evaluate({ claims } as unknown as Parameters<typeof evaluate>[0]);
  const unbound = messagesIn(valueFor({})).find((message) => message.startsWith('unbound function'));
  if (unbound !== undefined) throw new Error(unbound);
  return (claims) => {
    try {
      const value = valueFor(claims);
      return isCelError(value) ? undefined : value;
    } catch {
      // A value that CEL has no type for.
      return undefined;
    }
  };
}

/** Looks through the tree of an expression (`cel.expr.Expr`). `names`: variables that it reads, besides those of its own macros. */
function partsOf(tree: unknown) {
  const names = new Set<string>();
  const own = new Set<string>();
  let walks = 0;
  const look = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { case: kind, value } = { case: undefined, value: undefined, ...node };
    const named = { name: undefined, iterVar: undefined, accuVar: undefined, ...Object(value) };
    if (kind === 'comprehensionExpr') {
      walks += 1;
      own.add(String(named.iterVar)).add(String(named.accuVar));
    }
    if (kind === 'identExpr') names.add(String(named.name));
    for (const inner of Object.values(node)) look(inner);
  };
  look(tree);
  return { names: names.difference(own), walks };
}

/** The messages of an error and of its causes. */
function messagesIn(value: unknown): readonly string[] {
  if (!isCelError(value)) return [];
  const { _cause: causes } = { _cause: [], ...value };
  return [value.message, ...[causes].flat().flatMap(messagesIn)];
}
