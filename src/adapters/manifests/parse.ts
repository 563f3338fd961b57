import { type Document, LineCounter, parseDocument } from 'yaml';
import type { CatalogObject, CatalogProblem } from '../../core/catalog.ts';
import { fieldPath } from '../../core/field-path.ts';
import { offsetOf, pathAt, unresolvedAlias } from './place.ts';
import { type Piece, splitDocuments } from './split.ts';
import { yamlFaults } from './yaml-fault.ts';

/** What one document of a file turned out to be. */
export type ManifestEntry =
  | { readonly kind: 'object'; readonly object: CatalogObject }
  | { readonly kind: 'broken'; readonly problem: CatalogProblem };

/** More would hold up requests while it is parsed: a document cannot be parsed in parts. */
const maxDocumentCharacters = 256 * 1024;

/**
 * Reads the text of one file, document by document: YAML, or JSON, which is YAML. Never throws; a document with a
 * syntax error becomes a problem that names document, line and field, and never quotes the text.
 */
export function* parseManifest(file: string, text: string): Generator<ManifestEntry, void, undefined> {
  const pieces = splitDocuments(text);
  for (const piece of pieces) {
    // A file with one object is named without a number, as its author thinks of it.
    const where = pieces.length === 1 ? file : `${file}#${piece.number}`;
    yield parsePiece(piece, where);
  }
}

function parsePiece(piece: Piece, where: string): ManifestEntry {
  const broken = (message: string): ManifestEntry => ({ kind: 'broken', problem: { where, field: '', message } });
  if (piece.text.length > maxDocumentCharacters) return broken(`expected at most ${maxDocumentCharacters} characters`);
  try {
    return entryOf({ piece, where, parsed: parse(piece) });
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

interface Entry {
  readonly piece: Piece;
  readonly where: string;
  readonly parsed: Parsed;
}

function entryOf({ piece, where, parsed: { document, lineAt } }: Entry): ManifestEntry {
  const broken = (offset: number, message: string): ManifestEntry => ({
    kind: 'broken',
    problem: { where: `${where}:${lineAt(offset)}`, field: fieldPath(pathAt(document, offset)), message },
  });
  // An unknown tag is only a warning to the parser, but its value is not what the author meant.
  const error = document.errors[0] ?? document.warnings[0];
  if (error) return broken(error.pos[0], yamlFaults[error.code]);
  const alias = unresolvedAlias(document);
  if (alias !== undefined) return broken(alias, yamlFaults.BAD_ALIAS);
  try {
    const value: unknown = document.toJS();
    return { kind: 'object', object: { where, value, lineOf: lineFinder(piece) } };
  } catch {
    return broken(offsetOf(document, []), 'expected fewer aliases');
  }
}

/** Lines are asked for only when something is wrong: the text is parsed again then, rather than kept as a tree. */
function lineFinder(piece: Piece): (path: readonly PropertyKey[]) => number {
  let parsed: Parsed | undefined;
  return (path) => {
    parsed ??= parse(piece);
    return parsed.lineAt(offsetOf(parsed.document, path));
  };
}
