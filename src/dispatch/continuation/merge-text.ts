import type { AnswerEvent, TextEvent } from '../../core/event.ts';
import { createJsonPrefix } from '../json-prefix.ts';
import type { DeliveredChoice } from './delivered.ts';
import { type Join, joinEach } from './merge.ts';
import { watchJson } from './repeated-text.ts';

/** Least of a trace that tells it from another one, UTF-16 units. */
const leastTrace = 8;

/** Whether a trace begins as another did. */
function beginsAlike(one: string, other: string): boolean {
  const length = Math.min(one.length, other.length);
  return length >= leastTrace && one.startsWith(other.slice(0, length));
}

/**
 * Joins an answer that an engine continues from its partial text. Reasoning that comes before the first text is held back:
 * with text after it, or when it begins as the delivered trace did, the engine has reasoned anew, which the caller need not see;
 * else it has filed the rest of the text in the wrong place (docs/reference/engines.md §5).
 */
export function continueText(seam: Seam, delivered: Pick<DeliveredChoice, 'reasoning' | 'text'>): Join {
  const held = holdPieces(seam);
  let isOver = false;
  let hasSaidText = false;
  let trace = '';
  let traceDeltas = 0;

  const isMisfiled = (event: AnswerEvent): boolean =>
    event.type === 'finish' && !hasSaidText && trace !== '' && !beginsAlike(trace, delivered.reasoning);

  /** The text has ended: something else comes. */
  function endText(event: AnswerEvent & { readonly choice: number }, out: AnswerEvent[]): boolean {
    if (isOver) return true;
    isOver = true;
    if (isMisfiled(event)) {
      const text: TextEvent = { type: 'text-delta', choice: event.choice, text: trace, deltas: traceDeltas };
      trace = '';
      if (!held.push(text, out)) return false;
    }
    return held.end(event.choice, out);
  }

  return joinEach(
    (event, out) => {
      switch (event.type) {
        case 'usage':
          break;
        case 'reasoning-delta':
          if (hasSaidText || isOver) break;
          trace += event.text;
          traceDeltas += event.deltas;
          return true;
        case 'text-delta':
          hasSaidText = true;
          if (!isOver) return held.push(event, out);
          break;
        case 'refusal-delta':
        case 'tool-start':
        case 'tool-delta':
        case 'finish':
          if (!endText(event, out)) return false;
      }
      out.push(event);
      return true;
    },
    () => {
      const text = seam.repeated();
      const all = text === delivered.text && (trace !== '') === (delivered.reasoning !== '');
      const texts = [trace, text].filter((part) => part !== '');
      return { all, texts, deltas: held.repeatedDeltas() + (trace === '' ? 0 : traceDeltas) };
    },
  );
}

/** Pieces of text on their way through a seam: those that it holds back keep the probabilities of their tokens. */
export interface HeldPieces {
  /** Adds what is new. False on a contradiction. */
  readonly push: (event: TextEvent, out: AnswerEvent[]) => boolean;
  /** No more text comes. False on a contradiction. */
  readonly end: (choice: number, out: AnswerEvent[]) => boolean;
  /** The engine's own deltas in what the seam took off because it had been said before. */
  readonly repeatedDeltas: () => number;
}

/** The text of a token, as engines report it beside its probability. */
function tokenText(entry: unknown): string {
  const token = typeof entry === 'object' && entry !== null && 'token' in entry ? entry.token : '';
  return typeof token === 'string' ? token : '';
}

/** Probabilities of the tokens that remain when this many UTF-16 units are taken off the front. */
function withoutFront(tokens: readonly unknown[], units: number): readonly unknown[] {
  let at = 0;
  let left = units;
  while (left > 0 && at < tokens.length) left -= tokenText(tokens[at++]).length;
  return tokens.slice(at);
}

function holdPieces(seam: Seam): HeldPieces {
  let heldUnits = 0;
  let heldDeltas = 0;
  let tokens: unknown[] = [];
  let repeatedDeltas = 0;

  function release(text: string, choice: number, out: AnswerEvent[]): void {
    const takenUnits = heldUnits - text.length;
    const content = withoutFront(tokens, takenUnits);
    // A delta is about a token: what was taken off had its share of them.
    const taken = heldUnits === 0 ? 0 : Math.round((heldDeltas * takenUnits) / heldUnits);
    // An echo is not written, and so not counted.
    if (seam.repeated() !== '') repeatedDeltas += taken;
    const deltas = heldDeltas - taken;
    heldUnits = 0;
    heldDeltas = 0;
    tokens = [];
    if (text === '' && content.length === 0) return;
    out.push({ type: 'text-delta', choice, text, deltas, ...(content.length === 0 ? {} : { logprobs: { content } }) });
  }

  return {
    repeatedDeltas: () => repeatedDeltas,
    push: (event, out) => {
      const text = seam.push(event.text);
      if (text === undefined) return false;
      if (heldUnits === 0 && text === event.text) {
        if (text !== '' || event.logprobs !== undefined) out.push(event);
        return true;
      }
      heldUnits += event.text.length;
      heldDeltas += event.deltas;
      tokens.push(...(event.logprobs?.content ?? []));
      if (text !== '' || seam.repeated() !== '') release(text, event.choice, out);
      return true;
    },
    end: (choice, out) => {
      const text = seam.end();
      if (text === undefined) return false;
      if (heldUnits > 0) release(text, choice, out);
      return true;
    },
  };
}

/** The seam between a partial text and what another engine says next: takes off what it says again. */
export interface Seam {
  /** What is new in it: empty while that cannot be told yet. Undefined: it does not go on from the partial text. */
  readonly push: (piece: string) => string | undefined;
  /** No more comes: what was held back. */
  readonly end: () => string | undefined;
  /** What it has taken off that the engine wrote again, and so counts. */
  readonly repeated: () => string;
}

/** An engine that is not known to repeat the partial text is taken to do so only when it is at least this long. */
const leastEcho = 24;

/** Least length of last words said again that is no accident, UTF-16 units, and their number. */
const leastOverlap = 12;
const leastWords = 3;

/** How far back an overlap is looked for, UTF-16 units. */
const farthest = 200;

/** Whether a text ends with the same thing twice: saying it a third time is going on with it. */
const endsWithTwice = (text: string, piece: string): boolean => text.endsWith(piece + piece);

/** Whether a text is the same thing over and over: saying it again is going on with it. */
function isPeriodic(text: string): boolean {
  const half = text.slice(0, Math.ceil(text.length / 2));
  const period = text.indexOf(half, 1);
  return period !== -1 && text.startsWith(text.slice(period));
}

/** What an answer that goes on may begin with that was said before: the whole of it, or its last words. Longest first. */
function repeatsOf(partial: string, { echoes }: { readonly echoes: boolean }): readonly string[] {
  const isEcho = echoes || (partial.length >= leastEcho && !isPeriodic(partial));
  const repeats = isEcho ? [partial] : [];
  for (let at = Math.max(1, partial.length - farthest); at <= partial.length - leastOverlap; at += 1) {
    const isBoundary = /\s/.test(partial.charAt(at)) !== /\s/.test(partial.charAt(at - 1));
    const words = partial.slice(at);
    if (!isBoundary || words.trim().split(/\s+/).length < leastWords) continue;
    if (!endsWithTwice(partial, words) && !isPeriodic(words)) repeats.push(words);
  }
  return repeats;
}

/**
 * Joins text. Some engines repeat the partial text (`echoes`: this one is known to), some models their last words
 * (docs/reference/engines.md §5): both are taken off, whatever else they say is new.
 */
export function createTextSeam(partial: string, options: { readonly echoes: boolean }): Seam {
  const repeats = repeatsOf(partial, options);
  let held = '';
  let taken = '';
  let isOpen = repeats.length > 0;

  function close(): string {
    isOpen = false;
    taken = repeats.find((text) => held.startsWith(text)) ?? '';
    return held.slice(taken.length);
  }

  return {
    // An engine that is known for its echo does not write what it repeats.
    repeated: () => (options.echoes ? '' : taken),
    push: (piece) => {
      if (!isOpen) return piece;
      held += piece;
      return repeats.some((text) => text.length > held.length && text.startsWith(held)) ? '' : close();
    },
    end: () => {
      if (!isOpen) return '';
      // It ended before it had said again what was already there: not the same answer.
      const isCut = held !== '' && held !== partial && partial.startsWith(held);
      if (options.echoes && isCut) return undefined;
      return close();
    },
  };
}

/**
 * Joins JSON that the caller asked for. An engine under a grammar may begin it anew: that is aligned with the partial text,
 * up to the white space between its tokens. What neither says it again nor can go on with it is refused.
 */
export function createJsonSeam(partial: string): Seam {
  const again = watchJson(partial);
  let held = '';
  let isOpen = !again.isComplete();

  /** It does not say the partial text again: does it go on with it? */
  function goesOn(): string | undefined {
    const json = createJsonPrefix();
    if (!json.push(partial) || !json.push(held)) return undefined;
    isOpen = false;
    return held;
  }

  return {
    repeated: () => (again.isComplete() ? partial : ''),
    push: (piece) => {
      if (!isOpen) return piece;
      held += piece;
      const fresh = again.push(piece);
      if (fresh === undefined) return goesOn();
      isOpen = !again.isComplete();
      return fresh;
    },
    end: () => (isOpen ? goesOn() : ''),
  };
}
