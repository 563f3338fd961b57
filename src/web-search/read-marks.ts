/** `[cite:3]`, and what models make of it for several: `[cite:1, 2]`, `[cite: 1, cite: 2]`. */
const mark = /\[cite: ?\d{1,6}(?:, ?(?:cite: ?)?\d{1,6})*\]/.source;
const marks = new RegExp(`${mark}(?:[ ,;]*${mark})*`);
/** What may yet become one, at the end of a text. Longer ones are no mark. */
const begun = /\[(?:c|ci|cit|cite|cite:[\d ,:cite]{0,100})?$/;

/** A place where a model cites: one mark, or several in a row. */
export interface MarkedPlace {
  readonly start: number;
  readonly end: number;
  /** The numbers in it, each once. */
  readonly numbers: readonly number[];
}

/** The first place in a text where marks stand. */
export function findMarks(text: string): MarkedPlace | undefined {
  const found = marks.exec(text);
  if (found === null) return undefined;
  const numbers = new Set((found[0].match(/\d+/g) ?? []).map(Number));
  return { start: found.index, end: found.index + found[0].length, numbers: [...numbers] };
}

/** Index from which a text may be the beginning of a mark; its length where it is none. */
export function begunMark(text: string): number {
  return begun.exec(text)?.index ?? text.length;
}
