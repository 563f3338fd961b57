import type { TextEvent } from '../../core/event.ts';
import { type Citation, maxCitedText } from '../../core/web-search.ts';

/** Turns the marks in an answer's text into citations: a synchronous machine. */
export type Citer = ReturnType<typeof createCiter>;

/** Most text that is held back, UTF-16 units. A sentence is shorter. */
const maxHeld = 1000;

/** Whether a text begins with white space or closing punctuation, so that the blank before a mark is removed with the mark. */
const closesUp = (text: string): boolean => /^[\s.,;:!?…)\]。，！？]/.test(text) || text === '';

interface SourceLookup {
  /** Returns the citation of a source for a statement about it. Undefined when no source has this number. */
  readonly citationOf: (number: number, statement: string) => Citation | undefined;
  readonly isKnown: (number: number) => boolean;
}

interface CiterState extends SourceLookup {
  /** Text that is held back. */
  text: string;
  /** The engine's deltas in the text that is held back. */
  deltas: number;
  /** The numbers of marks before the next sentence. */
  ahead: readonly number[];
  /** Whether the current line has words so far. */
  lineHasWords: boolean;
  out: TextEvent[];
}

/**
 * A mark cites its own sentence or the one before it; at the beginning of a line, it cites the next sentence. Marks are removed
 * together with the blank before them. A mark of an unknown source remains: the answer may be about such marks.
 */
export function createCiter({ citationOf, isKnown }: SourceLookup) {
  const state: CiterState = { citationOf, isKnown, text: '', deltas: 0, ahead: [], lineHasWords: false, out: [] };
  return {
    /** Returns the text so far with its citations. The last sentence is held back, because its mark may follow. */
    push: (event: TextEvent): readonly TextEvent[] => {
      state.text += event.text;
      state.deltas += event.deltas;
      return drain(state, 'decided');
    },
    /** Returns all text that was held back. The machine can then be used for another text. */
    flush: (): readonly TextEvent[] => drain(state, 'all'),
    /**
     * As `flush`, for a text that has broken off or reached its cap: a mark that has only begun is left out, with the blank
     * before it.
     */
    breakOff: (): readonly TextEvent[] => {
      state.text = state.text.slice(0, unfinishedMark(state.text)).trimEnd();
      return drain(state, 'all');
    },
  };
}

function write(state: CiterState, text: string, cited: readonly number[] = []): void {
  if (text === '') return;
  const { out } = state;
  const citations = cited.flatMap((number) => state.citationOf(number, text) ?? []);
  const line = text.slice(text.lastIndexOf('\n') + 1);
  state.lineHasWords = hasWords(line) || (state.lineHasWords && line.length === text.length);
  const last = out.at(-1);
  if (citations.length === 0 && last !== undefined && last.citations === undefined) {
    out[out.length - 1] = { ...last, text: last.text + text };
  } else {
    const { deltas } = state;
    state.deltas = 0;
    out.push({
      type: 'text-delta',
      choice: 0,
      text,
      deltas,
      citations: citations.length === 0 ? undefined : citations,
    });
  }
}

/** Writes a text without marks. The marks before it cite its first sentence. */
function writePlain(state: CiterState, text: string): void {
  if (state.ahead.length === 0 || !hasWords(text)) {
    write(state, text);
    return;
  }
  let done = 0;
  for (const sentence of sentences(text)) {
    done += sentence.length;
    if (!hasWords(sentence)) write(state, sentence);
    else {
      const blank = sentence.length - sentence.trimEnd().length;
      write(state, sentence.trimEnd(), state.ahead);
      state.ahead = [];
      write(state, text.slice(done - blank));
      return;
    }
  }
}

/**
 * Writes the text before some marks. `rest`: the text after the marks, which is empty only at the end. Returns the part of `rest`
 * that is still to be written.
 */
function writeMarked(
  state: CiterState,
  before: string,
  { numbers, rest }: { readonly numbers: readonly number[]; readonly rest: string },
): string {
  const words = before.trimEnd();
  const blank = before.slice(words.length);
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const beginsLine = !hasWords(line) && (line.length < before.length || !state.lineHasWords);
  if (beginsLine && /^[ \t]*[^\s]/.test(rest)) {
    writePlain(state, before);
    state.ahead = [...new Set([...state.ahead, ...numbers])];
    return rest.replace(/^ /, '');
  }
  const start = lastSentence(words);
  const sentence = words.slice(start);
  if (!hasWords(sentence)) writePlain(state, words);
  else {
    writePlain(state, words.slice(0, start));
    const cited = [...new Set([...state.ahead, ...numbers])];
    state.ahead = [];
    write(state, sentence, cited);
  }
  if (!closesUp(rest) || blank.includes('\n')) writePlain(state, blank);
  return rest;
}

function drain(state: CiterState, reach: 'decided' | 'all'): readonly TextEvent[] {
  const isEnd = reach === 'all';
  const out: TextEvent[] = [];
  state.out = out;
  let { text } = state;
  /** The index at which the marks of unknown sources end. */
  let from = 0;
  for (;;) {
    const place = findMarks(text.slice(from));
    if (place === undefined) break;
    const end = from + place.end;
    const rest = text.slice(end);
    // More marks may follow, and the text after them decides which sentence they cite.
    const undecided = unfinishedMark(rest.replace(/^[ ,;]+/, '')) === 0 || rest.trim() === '';
    if (undecided && !isEnd) break;
    const known = place.numbers.filter(state.isKnown);
    if (known.length === 0) from = end;
    else {
      text = writeMarked(state, text.slice(0, from + place.start), { numbers: known, rest });
      from = 0;
    }
  }
  const keep = isEnd ? text.length : heldFrom(text, from);
  writePlain(state, text.slice(0, keep));
  state.text = text.slice(keep);
  if (isEnd) state.ahead = [];
  // Deltas without any output are counted with the next output.
  const last = out.at(-1);
  if (last !== undefined && state.text === '') {
    out[out.length - 1] = { ...last, deltas: last.deltas + state.deltas };
    state.deltas = 0;
  }
  return out;
}

/** The index from which a text is held back. */
function heldFrom(text: string, from: number): number {
  const place = findMarks(text.slice(from));
  const firstMark = place === undefined ? unfinishedMark(text) : from + place.start;
  const start = lastSentence(text.slice(0, firstMark));
  if (text.length - start <= maxHeld) return start;
  // Text that is too long for a sentence is not held back, but an unfinished mark is, with the blank before it.
  const blank = text.slice(0, firstMark).trimEnd().length;
  return Math.max(blank, firstMark - maxHeld);
}

/** The marks of citations: `[cite:3]`, and models' own versions for several, `[cite:1, 2]` and `[cite: 1, cite: 2]`. */
const mark = /\[cite: ?\d{1,6}(?:, ?(?:cite: ?)?\d{1,6})*\]/.source;
const marks = new RegExp(`${mark}(?:[ ,;]*${mark})*`);
/** The beginning of a mark at the end of a text. A longer beginning is not a mark. */
const unfinished = /\[(?:c|ci|cit|cite|cite:[\d ,:cite]{0,100})?$/;

/** The first mark in a text, or several in a row, and the numbers in them, each once. */
function findMarks(text: string) {
  const found = marks.exec(text);
  if (found === null) return undefined;
  const numbers = new Set((found[0].match(/\d+/g) ?? []).map(Number));
  return { start: found.index, end: found.index + found[0].length, numbers: [...numbers] };
}

/** The index of an unfinished mark at the end of a text, else the text's length. */
function unfinishedMark(text: string): number {
  return unfinished.exec(text)?.index ?? text.length;
}

/**
 * Returns the sentence of a source that has most in common with a statement about the source. Of several such sentences, returns
 * the first.
 */
export function quote(source: string, statement: string): string {
  const wanted = new Set(wordsOf(statement));
  let best = '';
  let most = -1;
  for (const sentence of sentences(source)) {
    const trimmed = sentence.trim();
    if (trimmed === '') continue;
    const shared = weigh(new Set(wordsOf(trimmed)).intersection(wanted));
    if (shared > most) {
      most = shared;
      best = trimmed;
    }
  }
  return cut(best);
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]{3,}|\p{N}+/gu) ?? [];

/** Cuts a text to the length of a citation, between words if possible and never inside of a character. */
function cut(text: string): string {
  if (text.length <= maxCitedText) return text;
  const most = text.slice(0, maxCitedText).replace(/[\uD800-\uDBFF]$/, '');
  const blank = most.lastIndexOf(' ');
  return blank > maxCitedText / 2 ? most.slice(0, blank) : most;
}

/** The weight of words: long ones are rare, and people look up numbers. */
function weigh(words: ReadonlySet<string>): number {
  let sum = 0;
  for (const word of words) sum += /^\p{N}/u.test(word) ? word.length * 2 : word.length;
  return sum;
}

/** The end of a sentence. A line's end counts: list items and headings have no full stop. */
const boundary = /[.!?…]["'”’)\]*_]*\s+|[。！？]|\n\s*/g;

/** The index of the last sentence of a text. White space after it belongs to it. */
function lastSentence(text: string): number {
  const end = text.trimEnd().length;
  let start = 0;
  for (const { 0: matched, index } of text.matchAll(boundary)) {
    if (index + matched.length < end) start = index + matched.length;
  }
  return start;
}

/** The sentences of a text in order. Joined, they are the text. */
function sentences(text: string): readonly string[] {
  const cuts = [...text.matchAll(boundary)].map(({ 0: matched, index }) => index + matched.length);
  return [0, ...cuts].map((start, at) => text.slice(start, cuts[at])).filter((sentence) => sentence !== '');
}

/** Whether a text has a letter or a digit. */
function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}
