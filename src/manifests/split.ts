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
export function splitDocuments(text: string): readonly Piece[] {
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
