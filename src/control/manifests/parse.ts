import { type Document, type ErrorCode, Lexer, LineCounter, parseDocument } from 'yaml';
import type { CatalogObject, CatalogProblem } from '../../core/catalog.ts';
import { fieldPath } from '../../core/failure.ts';
import { lineIn, type LineTable, lineTableOf, pathAt, startOf, unresolvedAlias } from './lines.ts';

/** The result of one document of a file. */
export type ManifestEntry =
  | { readonly kind: 'object'; readonly object: CatalogObject }
  | { readonly kind: 'broken'; readonly problem: CatalogProblem };

/** A `ManifestEntry` as plain data, which goes from one thread to another. */
export type ParsedDocument =
  | { readonly kind: 'value'; readonly where: string; readonly value: unknown; readonly lines: LineTable }
  | { readonly kind: 'broken'; readonly problem: CatalogProblem };

/** Parses the text of one file, to its end. Never throws. */
export type ParseManifest = (file: string, text: string) => Promise<readonly ManifestEntry[]>;

const maxDocumentCharacters = 256 * 1024;
/** Most documents of a file. Each document may have a problem, and each problem is reported. */
const maxDocuments = 2_000;

/** Parses on this thread, for as long as it takes: for commands, where no requests wait. */
export function parseManifest(file: string, text: string): readonly ManifestEntry[] {
  return parseDocuments(file, text).map(entryOf).toArray();
}

/**
 * Reads the text of one file, document by document: YAML, or JSON, which is YAML. Never throws; a document with a
 * syntax error becomes a problem that names document, line and field, and never quotes the text.
 */
export function* parseDocuments(file: string, text: string): Generator<ParsedDocument, void, undefined> {
  const pieces = splitDocuments(text);
  for (const piece of pieces.slice(0, maxDocuments)) {
    // A file with one object is named without a number, because its author thinks of the file.
    const where = pieces.length === 1 ? file : `${file}#${piece.number}`;
    yield parsePiece(piece, where);
  }
  if (pieces.length > maxDocuments) {
    const message = `expected at most ${maxDocuments} documents, split the file`;
    yield { kind: 'broken', problem: { where: file, field: '', message } };
  }
}

export function entryOf(parsed: ParsedDocument): ManifestEntry {
  if (parsed.kind === 'broken') return parsed;
  const { where, value, lines } = parsed;
  return { kind: 'object', object: { where, value, lineOf: (path) => lineIn(lines, path) } };
}

function parsePiece(piece: Piece, where: string): ParsedDocument {
  const broken = (message: string): ParsedDocument => ({ kind: 'broken', problem: { where, field: '', message } });
  if (piece.text.length > maxDocumentCharacters) return broken(`expected at most ${maxDocumentCharacters} characters`);
  try {
    const passed = boundPassedBy(piece.text);
    return passed === undefined ? parsedOf({ where, ...parse(piece) }) : broken(passed);
  } catch {
    // The text passes one of the parser's own limits, such as a stack overflow on absurd nesting.
    return broken('expected YAML or JSON with less nesting');
  }
}

type Parsed = ReturnType<typeof parse>;

function parse({ text, linesBefore }: Piece) {
  const lineCounter = new LineCounter();
  // Pretty errors quote the line they are in, and the line may hold a secret.
  const options = { prettyErrors: false, lineCounter, stringKeys: true, merge: true, logLevel: 'error' } as const;
  const document: Document = parseDocument(text, options);
  return { document, lineAt: (offset: number): number => linesBefore + lineCounter.linePos(offset).line };
}

function parsedOf({ where, document, lineAt }: Parsed & { readonly where: string }): ParsedDocument {
  const broken = (offset: number, message: string): ParsedDocument => ({
    kind: 'broken',
    problem: { where: `${where}:${lineAt(offset)}`, field: fieldPath(pathAt(document, offset)), message },
  });
  // An unknown tag is only a warning to the parser, but its value is not what the author meant.
  const error = document.errors[0] ?? document.warnings[0];
  if (error) return broken(error.pos[0], yamlFaults[error.code]);
  const alias = unresolvedAlias(document);
  if (alias !== undefined) return broken(alias, yamlFaults.BAD_ALIAS);
  const start = startOf(document.contents) ?? 0;
  try {
    const value: unknown = document.toJS();
    const passed = boundPassedByValue(value);
    if (passed !== undefined) return broken(start, passed);
    return { kind: 'value', where, value, lines: lineTableOf(document, lineAt) };
  } catch {
    return broken(start, 'expected fewer aliases');
  }
}

/** One document of a file, to be parsed by itself. */
interface Piece {
  readonly text: string;
  /** Its place in the file, from 1. Empty documents count, too. */
  readonly number: number;
  /** Lines of the file before it. */
  readonly linesBefore: number;
}

/**
 * Cuts a file into its documents at the `---` lines, which YAML allows nowhere else at the start of a line (YAML 1.2.2
 * §9.1.2), so that a fault in one document is a fault in no other. Directives belong to the document that follows. Documents of blank lines and comments are left out.
 */
function splitDocuments(text: string): readonly Piece[] {
  const marks = [...text.matchAll(/^(?:%.*\r?\n)*---(?=\s|$)/gm)].map(({ index }) => index);
  // The text before the first mark is a document only if it holds something, even if that is a faulty line.
  const starts = isBlank(text.slice(0, marks[0])) ? marks : [0, ...marks];
  let linesBefore = countLines(text.slice(0, starts[0] ?? 0));
  const pieces = starts.map((start, index): Piece => {
    const piece = { text: text.slice(start, starts[index + 1]), number: index + 1, linesBefore };
    linesBefore += countLines(piece.text);
    return piece;
  });
  return pieces.filter((piece) => !isBlank(piece.text.replace(/^---[^\S\n]*/, '')));
}

function isBlank(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(#.*)?$/.test(line));
}

function countLines(text: string): number {
  return text.split('\n').length - 1;
}

/** Deepest nesting of a document. The catalog's kinds need a fifth of it. */
const maxDepth = 64;
/** Most values of a document, with aliases expanded: a Model of 64 full routes has a quarter of it. */
const maxValues = 10_000;
/**
 * Most lexemes of a document, line ends and comments included. The package takes 10 µs for each lexeme. With nesting,
 * the time grows with the square of their number: 100 KB of `[` took 1.4 s, a group of 25,000 fields 16 s.
 */
const maxLexemes = 40_000;

/** The bound that a text exceeds; undefined: the text may be parsed. The time of this check is bounded, too. */
function boundPassedBy(text: string): string | undefined {
  let lexemes = 0;
  let brackets = 0;
  /** Levels begun on this line outside of brackets: `- - - a` nests without indentation. */
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

/**
 * The bound that a parsed value exceeds; undefined: none. An alias repeats the whole value of its anchor, so a small
 * text may have a large value.
 */
function boundPassedByValue(value: unknown): string | undefined {
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

/**
 * The meaning of each syntax error of the `yaml` package, without the faulty text: the package's own messages quote the
 * file, and the file may contain a Secret.
 */
export const yamlFaults: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'expected no anchor or tag on an alias',
  BAD_ALIAS: 'expected an alias of an earlier anchor',
  BAD_COLLECTION_TYPE: 'expected a tag that fits the kind of value',
  BAD_DIRECTIVE: 'expected a known %-directive',
  BAD_DQ_ESCAPE: 'expected a valid escape in double quotes',
  BAD_INDENT: 'expected other indentation, or a closing bracket',
  BAD_PROP_ORDER: 'expected anchor and tag before the value',
  BAD_SCALAR_START: 'expected quotes around text that begins like this',
  BLOCK_AS_IMPLICIT_KEY: 'expected one "key: value" on a line',
  BLOCK_IN_FLOW: 'expected no block inside [ ] or { }',
  DUPLICATE_KEY: 'expected each field once',
  IMPOSSIBLE: 'expected valid YAML',
  KEY_OVER_1024_CHARS: 'expected a field name below 1024 characters',
  MISSING_CHAR: 'expected a missing ":", comma, quote, bracket or space',
  MULTILINE_IMPLICIT_KEY: 'expected a field name on one line',
  MULTIPLE_ANCHORS: 'expected one anchor at most',
  MULTIPLE_DOCS: 'expected one document',
  MULTIPLE_TAGS: 'expected one tag at most',
  NON_STRING_KEY: 'expected text as the name of a field',
  RESOURCE_EXHAUSTION: 'expected less nesting',
  TAB_AS_INDENT: 'expected spaces for indentation, not tabs',
  TAG_RESOLVE_FAILED: 'expected no tag of its own, or a value that fits it',
  UNEXPECTED_TOKEN: 'expected valid YAML, something does not belong here',
};
