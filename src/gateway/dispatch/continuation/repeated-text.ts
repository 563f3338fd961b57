import { afterJsonSpace } from '../../core/json-prefix.ts';

/** Compares a new answer with the delivered text, which the answer repeats before it continues. */
export interface RepeatWatch {
  /** Returns the part of a piece that is beyond the delivered text. Empty: none yet. Undefined: the piece differs. */
  readonly push: (piece: string) => string | undefined;
  /** Whether the new answer has repeated all of the delivered text. */
  readonly isComplete: () => boolean;
}

/** Compares text, to the letter. */
export function watchText(delivered: string): RepeatWatch {
  return watch(delivered, (said) => alignText(delivered, said));
}

/** Compares JSON, whatever white space and escapes the other engine writes. */
export function watchJson(delivered: string): RepeatWatch {
  const aligner = createJsonAligner(delivered);
  let isJson = true;
  return watch(delivered, (said, piece) => {
    const at = isJson ? aligner.push(piece) : undefined;
    if (at !== undefined) return at;
    // A model may write invalid JSON.
    isJson = false;
    return alignText(delivered, said);
  });
}

function watch(delivered: string, align: (said: string, piece: string) => Alignment): RepeatWatch {
  let said = '';
  let isComplete = delivered === '';
  return {
    isComplete: () => isComplete,
    push: (piece) => {
      if (isComplete) return piece;
      said += piece;
      const at = align(said, piece);
      if (at === 'more') return '';
      if (at === undefined) return undefined;
      isComplete = true;
      return said.slice(at);
    },
  };
}

function alignText(delivered: string, said: string): Alignment {
  if (said.startsWith(delivered)) return delivered.length;
  return delivered.startsWith(said) ? 'more' : undefined;
}

/**
 * Where the new part begins, as an index into the whole regenerated text. `more`: the text agrees so far, and more is needed.
 * Undefined: the text contradicts what was delivered.
 */
export type Alignment = number | 'more' | undefined;

/** One UTF-16 unit of a JSON string, written bare or as an escape, and the index at which the next unit begins. */
interface Unit {
  readonly unit: string;
  readonly next: number;
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** Undefined when the text ends inside of an escape. */
function unitAt(text: string, at: number): Unit | undefined {
  const character = text.charAt(at);
  if (character !== '\\') return { unit: character, next: at + 1 };
  const letter = text.charAt(at + 1);
  if (letter === '') return undefined;
  if (letter !== 'u') return { unit: escapes.get(letter) ?? letter, next: at + 2 };
  const digits = text.slice(at + 2, at + 6);
  return digits.length < 4 ? undefined : { unit: String.fromCharCode(Number.parseInt(digits, 16)), next: at + 6 };
}

/** Characters of numbers and literals. White space between two of them separates two words. */
const isWord = (character: string): boolean => /[\w.+-]/.test(character);
const isHighSurrogate = (character: string): boolean => character >= '\uD800' && character <= '\uDBFF';
const isLowSurrogate = (character: string): boolean => character >= '\uDC00' && character <= '\uDFFF';

/** How far the regenerated text has been compared, and the result. `new`: the new part begins at `next`. */
interface Step {
  readonly kind: 'on' | 'more' | 'new';
  readonly next: number;
}

/**
 * Reads regenerated JSON piece by piece, and finds where it goes beyond the delivered part.
 * Aligns regenerated JSON with the delivered part. The two may differ in white space between tokens and in the escapes of
 * strings, because engines write the same value differently. Everything else is compared as text: 1.0 is not 1. The delivered part
 * and the new part together are JSON of the regenerated value.
 */
export function createJsonAligner(delivered: string) {
  let at = 0;
  /** The regenerated text that has not been compared yet, and the length of the text before it. */
  let held = '';
  let before = 0;
  let isInString = false;
  /** The unit that was compared last, and which of the two texts had white space after it. */
  let last = '';
  let spaced = { delivered: false, held: false };

  /** Called when the delivered text ends inside a string. */
  function endInString(next: number): Step | undefined {
    if (!isHighSurrogate(last)) return { kind: 'new', next };
    if (next === held.length) return { kind: 'more', next };
    // A character of two units is not valid if one half is an escape and the other half is bare.
    const isBare = delivered.charAt(at - 1) === last;
    return isLowSurrogate(held.charAt(next)) === isBare ? { kind: 'new', next } : undefined;
  }

  /** Called when the delivered text ends inside an escape. Only the same escape continues it. */
  function endInEscape(next: number): Step | undefined {
    const tail = delivered.slice(at);
    const theirs = held.slice(next, next + tail.length);
    if (theirs === tail) return { kind: 'new', next: next + tail.length };
    return tail.startsWith(theirs) ? { kind: 'more', next } : undefined;
  }

  function stepInString(from: number): Step | undefined {
    if (at === delivered.length) return endInString(from);
    const ours = unitAt(delivered, at);
    if (ours === undefined) return endInEscape(from);
    const theirs = from === held.length ? undefined : unitAt(held, from);
    if (theirs === undefined) return { kind: 'more', next: from };
    const isEnd = delivered.charAt(at) === '"';
    if (isEnd !== (held.charAt(from) === '"') || ours.unit !== theirs.unit) return undefined;
    if (isEnd) isInString = false;
    last = ours.unit;
    at = ours.next;
    return { kind: 'on', next: theirs.next };
  }

  /** Called when the delivered text ends between strings. */
  function endOutside(from: number, next: number): Step | undefined {
    if (!spaced.delivered) return { kind: 'new', next: from };
    if (!isWord(last)) return { kind: 'new', next };
    // White space has ended the delivered number. The next character decides whether the regenerated number has ended, too.
    if (next === held.length) return { kind: 'more', next };
    return isWord(held.charAt(next)) ? undefined : { kind: 'new', next };
  }

  function stepOutside(from: number): Step | undefined {
    const next = afterJsonSpace(held, from);
    const ourNext = afterJsonSpace(delivered, at);
    spaced = { delivered: spaced.delivered || ourNext > at, held: spaced.held || next > from };
    at = ourNext;
    if (at === delivered.length) return endOutside(from, next);
    if (next === held.length) return { kind: 'more', next };
    const ours = delivered.charAt(at);
    if (ours !== held.charAt(next)) return undefined;
    if (spaced.delivered !== spaced.held && isWord(last) && isWord(ours)) return undefined;
    isInString = ours === '"';
    last = ours;
    spaced = { delivered: false, held: false };
    at += 1;
    return { kind: 'on', next: next + 1 };
  }

  return {
    /** Aligns the next piece. Do not call it again after a result other than `more`. */
    push: (piece: string): Alignment => {
      held += piece;
      let step: Step | undefined = { kind: 'on', next: 0 };
      while (step?.kind === 'on') step = isInString ? stepInString(step.next) : stepOutside(step.next);
      if (step === undefined) return undefined;
      if (step.kind === 'new') return before + step.next;
      before += step.next;
      held = held.slice(step.next);
      return 'more';
    },
  };
}
