import type { TextEvent } from '../core/event.ts';
import { type Citation, maxCitedText } from '../core/web-search.ts';

/** Where one sentence ends and the next begins. A line's end is one too: items of lists and headings have no full stop. */
const boundary = /[.!?…]["'”’)\]*_]*\s+|[。！？]|\n\s*/g;

/** Index at which the last sentence of a text begins; what is blank at its end belongs to that sentence. */
function lastSentence(text: string): number {
  const end = text.trimEnd().length;
  let start = 0;
  for (const { 0: matched, index } of text.matchAll(boundary)) {
    if (index + matched.length < end) start = index + matched.length;
  }
  return start;
}

/** The sentences of a text, in order; together they are the text. */
function sentences(text: string): readonly string[] {
  const cuts = [...text.matchAll(boundary)].map(({ 0: matched, index }) => index + matched.length);
  return [0, ...cuts].map((start, at) => text.slice(start, cuts[at])).filter((sentence) => sentence !== '');
}

/** Whether there is anything in it that could be said: a letter or a digit. */
function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]{3,}|\p{N}+/gu) ?? [];

/** Cuts a text to what a citation may hold, between words where it can, and never inside a character. */
function cut(text: string): string {
  if (text.length <= maxCitedText) return text;
  const most = text.slice(0, maxCitedText).replace(/[\uD800-\uDBFF]$/, '');
  const blank = most.lastIndexOf(' ');
  return blank > maxCitedText / 2 ? most.slice(0, blank) : most;
}

/** How much words tell: long ones are rare, and figures are what people look up. */
function weigh(words: ReadonlySet<string>): number {
  let sum = 0;
  for (const word of words) sum += /^\p{N}/u.test(word) ? word.length * 2 : word.length;
  return sum;
}

/** The sentence of a source that shares the most with what was said of it; the first of them where several do. */
export function quote(source: string, said: string): string {
  const wanted = new Set(wordsOf(said));
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

/** `[cite:3]`, and what models make of it for several: `[cite:1, 2]`, `[cite: 1, cite: 2]`. */
const mark = /\[cite: ?\d{1,6}(?:, ?(?:cite: ?)?\d{1,6})*\]/.source;
const marks = new RegExp(`${mark}(?:[ ,;]*${mark})*`);
/** What may yet become one, at the end of a text. Longer ones are no mark. */
const begun = /\[(?:c|ci|cit|cite|cite:[\d ,:cite]{0,100})?$/;

/** A place where a model cites: one mark, or several in a row. */
interface MarkedPlace {
  readonly start: number;
  readonly end: number;
  /** The numbers in it, each once. */
  readonly numbers: readonly number[];
}

/** The first place in a text where marks stand. */
function findMarks(text: string): MarkedPlace | undefined {
  const found = marks.exec(text);
  if (found === null) return undefined;
  const numbers = new Set((found[0].match(/\d+/g) ?? []).map(Number));
  return { start: found.index, end: found.index + found[0].length, numbers: [...numbers] };
}

/** Index from which a text may be the beginning of a mark; its length where it is none. */
function begunMark(text: string): number {
  return begun.exec(text)?.index ?? text.length;
}

/** Turns the marks in an answer's text into citations: a synchronous machine. */
export interface Citer {
  /** What can be told of the text so far. The last sentence is held back: its mark may be yet to come. */
  readonly push: (event: TextEvent) => readonly TextEvent[];
  /** All that was held back. The machine can be used for a further text afterwards. */
  readonly flush: () => readonly TextEvent[];
}

/** Most text that is held back, UTF-16 units: what is longer is no sentence. */
const maxHeld = 1000;

/** Punctuation that stands close to the word before it, so that a blank before a mark goes with the mark. */
const isClose = (text: string): boolean => /^[\s.,;:!?…)\]。，！？]/.test(text) || text === '';

/**
 * A mark cites the sentence it stands in or behind; at the beginning of a line it cites the sentence that follows. Marks are
 * taken out with the blank before them. A mark of no known source stays where it is: it may be what the answer is about.
 */
export function createCiter(options: {
  /** The citation of a source for what is said of it; undefined when there is no source of this number. */
  readonly citationOf: (number: number, said: string) => Citation | undefined;
  readonly isKnown: (number: number) => boolean;
}): Citer {
  const { citationOf, isKnown } = options;
  /** Text that was not handed on yet, and the engine's deltas in it. */
  const held = { text: '', deltas: 0 };
  /** Marks of the sentence to come. */
  let ahead: readonly number[] = [];
  /** Whether the line so far has any words. */
  let lineHasWords = false;
  let out: TextEvent[] = [];

  function say(text: string, cited: readonly number[] = []): void {
    if (text === '') return;
    const citations = cited.flatMap((number) => citationOf(number, text) ?? []);
    const line = text.slice(text.lastIndexOf('\n') + 1);
    lineHasWords = hasWords(line) || (lineHasWords && line.length === text.length);
    const last = out.at(-1);
    if (citations.length === 0 && last !== undefined && last.citations === undefined) {
      out[out.length - 1] = { ...last, text: last.text + text };
    } else {
      const { deltas } = held;
      held.deltas = 0;
      out.push({ type: 'text-delta', choice: 0, text, deltas, ...(citations.length === 0 ? {} : { citations }) });
    }
  }

  /** Says a text without marks of its own: those ahead of it cite its first sentence. */
  function sayPlain(text: string): void {
    if (ahead.length === 0 || !hasWords(text)) {
      say(text);
      return;
    }
    let done = 0;
    for (const sentence of sentences(text)) {
      done += sentence.length;
      if (!hasWords(sentence)) say(sentence);
      else {
        const blank = sentence.length - sentence.trimEnd().length;
        say(sentence.trimEnd(), ahead);
        ahead = [];
        say(text.slice(done - blank));
        return;
      }
    }
  }

  /** Says what stands before a place with marks. `rest`: what follows it, at least one character unless it is the end. */
  function sayMarked(before: string, numbers: readonly number[], rest: string): string {
    const said = before.trimEnd();
    const blank = before.slice(said.length);
    const line = before.slice(before.lastIndexOf('\n') + 1);
    const beginsLine = !hasWords(line) && (line.length < before.length || !lineHasWords);
    if (beginsLine && /^[ \t]*[^\s]/.test(rest)) {
      sayPlain(before);
      ahead = [...new Set([...ahead, ...numbers])];
      return rest.replace(/^ /, '');
    }
    const start = lastSentence(said);
    const sentence = said.slice(start);
    if (!hasWords(sentence)) sayPlain(said);
    else {
      sayPlain(said.slice(0, start));
      const cited = [...new Set([...ahead, ...numbers])];
      ahead = [];
      say(sentence, cited);
    }
    if (!isClose(rest) || blank.includes('\n')) sayPlain(blank);
    return rest;
  }

  function drain(isEnd: boolean): readonly TextEvent[] {
    out = [];
    let { text } = held;
    /** Up to where there are marks that mean nothing. */
    let from = 0;
    for (;;) {
      const place = findMarks(text.slice(from));
      if (place === undefined) break;
      const end = from + place.end;
      const rest = text.slice(end);
      // More marks may follow, and what follows them decides what they belong to.
      const undecided = begunMark(rest.replace(/^[ ,;]+/, '')) === 0 || rest.trim() === '';
      if (undecided && !isEnd) break;
      const known = place.numbers.filter(isKnown);
      if (known.length === 0) from = end;
      else {
        text = sayMarked(text.slice(0, from + place.start), known, rest);
        from = 0;
      }
    }
    const keep = isEnd ? text.length : heldFrom(text, from);
    sayPlain(text.slice(0, keep));
    held.text = text.slice(keep);
    if (isEnd) ahead = [];
    // Deltas of which nothing came out yet are told with what comes next.
    const last = out.at(-1);
    if (last !== undefined && held.text === '') {
      out[out.length - 1] = { ...last, deltas: last.deltas + held.deltas };
      held.deltas = 0;
    }
    return out;
  }

  return {
    push: (event) => {
      held.text += event.text;
      held.deltas += event.deltas;
      return drain(false);
    },
    flush: () => drain(true),
  };
}

/** From where a text without decided marks is held back. */
function heldFrom(text: string, from: number): number {
  const place = findMarks(text.slice(from));
  const firstMark = place === undefined ? begunMark(text) : from + place.start;
  const start = lastSentence(text.slice(0, firstMark));
  // What cannot be a sentence is let go, but never half a mark.
  return text.length - start > maxHeld ? firstMark : start;
}
