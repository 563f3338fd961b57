/** Where one sentence ends and the next begins. A line's end is one too: items of lists and headings have no full stop. */
const boundary = /[.!?…]["'”’)\]*_]*\s+|[。！？]|\n\s*/g;

/** Index at which the last sentence of a text begins; what is blank at its end belongs to that sentence. */
export function lastSentence(text: string): number {
  const end = text.trimEnd().length;
  let start = 0;
  for (const { 0: matched, index } of text.matchAll(boundary)) {
    if (index + matched.length < end) start = index + matched.length;
  }
  return start;
}

/** The sentences of a text, in order; together they are the text. */
export function sentences(text: string): readonly string[] {
  const cuts = [...text.matchAll(boundary)].map(({ 0: matched, index }) => index + matched.length);
  return [0, ...cuts].map((start, at) => text.slice(start, cuts[at])).filter((sentence) => sentence !== '');
}

/** Whether there is anything in it that could be said: a letter or a digit. */
export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}
