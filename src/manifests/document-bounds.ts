import { Lexer } from 'yaml';

/** Deepest nesting of a document. What the catalog's kinds need is a fifth of it. */
const maxDepth = 64;
/** Most values of a document, those that aliases stand for included: a Model of 64 full routes has a quarter of it. */
const maxValues = 10_000;
/**
 * Most lexemes of a document, line ends and comments included. The package takes 10 µs for each, and with nesting the square
 * of it: 100 KB of `[` took 1.4 s, a group of 25,000 fields 16 s.
 */
const maxLexemes = 40_000;

/** Says why a document is not to be parsed, in a time bounded by its limits; undefined when it may be. */
export function boundPassedBy(text: string): string | undefined {
  let lexemes = 0;
  let brackets = 0;
  /** Begun on this line outside of brackets: `- - - a` nests without any indentation. */
  let onLine = 0;
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1;
    if (lexemes > maxLexemes) return `expected at most ${maxLexemes} words, marks and lines in a document`;
    const first = lexeme.charAt(0);
    if (first === '[' || first === '{') brackets += 1;
    else if (first === ']' || first === '}') brackets = Math.max(0, brackets - 1);
    else if (first === '\n') onLine = 0;
    else if (brackets === 0 && (first === '-' || first === '?' || first === ':')) onLine += 1;
    if (brackets > maxDepth || onLine > maxDepth) return `expected less nesting: at most ${maxDepth} levels`;
  }
  return undefined;
}

/** Says why a value is not to be handed on: an alias stands for all that its anchor holds, so a small text may hold much. */
export function boundPassedByValue(value: unknown): string | undefined {
  let values = 0;
  const isDeeper = (inner: unknown, depth: number): boolean => {
    values += 1;
    if (depth > maxDepth || values > maxValues) return true;
    if (typeof inner !== 'object' || inner === null) return false;
    return Object.values(inner).some((each) => isDeeper(each, depth + 1));
  };
  if (!isDeeper(value, 0)) return undefined;
  return values > maxValues
    ? `expected at most ${maxValues} values in a document`
    : `expected less nesting: at most ${maxDepth} levels`;
}
