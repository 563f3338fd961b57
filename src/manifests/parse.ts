import { type Document, LineCounter, parseDocument } from 'yaml';
import type { CatalogObject, CatalogProblem } from '../core/catalog.ts';
import { fieldPath } from '../core/failure.ts';
import { boundPassedBy, boundPassedByValue } from './document-bounds.ts';
import { lineIn, type LineTable, lineTableOf } from './line-table.ts';
import { pathAt, startOf, unresolvedAlias } from './place.ts';
import { yamlFaults } from './yaml-fault.ts';

/** One document of a file, to be parsed by itself. */
export interface Piece {
  readonly text: string;
  /** Its place in the file, from 1; documents that hold nothing count too. */
  readonly number: number;
  /** Lines of the file before it. */
  readonly linesBefore: number;
}

/**
 * Cuts a file into its documents at the `---` lines, which YAML allows nowhere else at the start of a line (YAML 1.2.2
 * §9.1.2): what is wrong with one of them is wrong with no other. Directives belong to the document that follows. Documents of blank lines and comments are left out.
 */
function splitDocuments(text: string): readonly Piece[] {
  const marks = [...text.matchAll(/^(?:%.*\r?\n)*---(?=\s|$)/gm)].map(({ index }) => index);
  // What stands before the first mark is a document only when it holds something, even if it is just a bad line.
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

/** What one document of a file turned out to be. */
export type ManifestEntry =
  | { readonly kind: 'object'; readonly object: CatalogObject }
  | { readonly kind: 'broken'; readonly problem: CatalogProblem };

/** The same as plain data, which goes from one thread to another. */
export type ParsedDocument =
  | { readonly kind: 'value'; readonly where: string; readonly value: unknown; readonly lines: LineTable }
  | { readonly kind: 'broken'; readonly problem: CatalogProblem };

/** Parses the text of one file, to its end. Never throws. */
export type ParseManifest = (file: string, text: string) => Promise<readonly ManifestEntry[]>;

const maxDocumentCharacters = 256 * 1024;
/** Each document may bring a problem, and each problem is reported. */
const maxDocuments = 2_000;

/**
 * Reads the text of one file, document by document: YAML, or JSON, which is YAML. Never throws; a document with a
 * syntax error becomes a problem that names document, line and field, and never quotes the text.
 */
export function* parseDocuments(file: string, text: string): Generator<ParsedDocument, void, undefined> {
  const pieces = splitDocuments(text);
  for (const piece of pieces.slice(0, maxDocuments)) {
    // A file with one object is named without a number, as its author thinks of it.
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

/** Parses here and now, for as long as it takes: for commands, which keep nobody waiting. */
export function parseManifest(file: string, text: string): readonly ManifestEntry[] {
  return parseDocuments(file, text).map(entryOf).toArray();
}

function parsePiece(piece: Piece, where: string): ParsedDocument {
  const broken = (message: string): ParsedDocument => ({ kind: 'broken', problem: { where, field: '', message } });
  if (piece.text.length > maxDocumentCharacters) return broken(`expected at most ${maxDocumentCharacters} characters`);
  try {
    const passed = boundPassedBy(piece.text);
    return passed === undefined ? parsedOf({ where, ...parse(piece) }) : broken(passed);
  } catch {
    // The parser's own limits, such as a stack overflow on absurd nesting.
    return broken('expected YAML or JSON with less nesting');
  }
}

interface Parsed {
  readonly document: Document;
  readonly lineAt: (offset: number) => number;
}

function parse({ text, linesBefore }: Piece): Parsed {
  const lineCounter = new LineCounter();
  // Pretty errors quote the line they are in, and the line may hold a secret.
  const options = { prettyErrors: false, lineCounter, stringKeys: true, merge: true, logLevel: 'error' } as const;
  const document: Document = parseDocument(text, options);
  return { document, lineAt: (offset) => linesBefore + lineCounter.linePos(offset).line };
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
