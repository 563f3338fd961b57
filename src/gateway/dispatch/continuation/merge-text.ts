import type { AnswerEvent, TextEvent } from '../../../core/event.ts';
import { readJsonBeginning } from '../../core/json-prefix.ts';
import type { DeliveredChoice } from './delivered.ts';
import { type Merge, mergeEach } from './merge.ts';
import { watchJson } from './repeated-text.ts';

/** Least length at which two traces can be distinguished, UTF-16 units. */
const minTrace = 8;

/** Whether two traces begin the same. */
function beginsAlike(one: string, other: string): boolean {
  const length = Math.min(one.length, other.length);
  return length >= minTrace && one.startsWith(other.slice(0, length));
}

/**
 * Merges an answer that an engine continues from its partial text. Reasoning before the first text is held. If text follows, or if
 * the reasoning begins like the delivered trace, the engine reasons again, and this reasoning is dropped. Otherwise the engine has
 * put the rest of the text into the wrong field (docs/reference/engines.md §5).
 */
export function continueText(merge: TextMerge, delivered: Pick<DeliveredChoice, 'reasoning' | 'text'>): Merge {
  const pieces = mergePieces(merge, 'text-delta');
  let isOver = false;
  let hasSaidText = false;
  let trace = '';
  let traceDeltas = 0;

  const isMisfiled = (event: AnswerEvent): boolean =>
    event.type === 'finish' && !hasSaidText && trace !== '' && !beginsAlike(trace, delivered.reasoning);

  /** Ends the text when an event of another type follows. */
  function endText(event: AnswerEvent & { readonly choice: number }, out: AnswerEvent[]): boolean {
    if (isOver) return true;
    isOver = true;
    if (isMisfiled(event)) {
      const text: TextEvent = { type: 'text-delta', choice: event.choice, text: trace, deltas: traceDeltas };
      trace = '';
      if (!pieces.push(text, out)) return false;
    }
    return pieces.end(event.choice, out);
  }

  return mergeEach(
    (event, out) => {
      switch (event.type) {
        // Answers of other tasks are not continued.
        case 'vectors':
        case 'ranks':
        case 'usage':
          break;
        case 'reasoning-delta':
          if (hasSaidText || isOver) break;
          trace += event.text;
          traceDeltas += event.deltas;
          return true;
        case 'text-delta':
          hasSaidText = true;
          if (!isOver) return pieces.push(event, out);
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
      const text = merge.repeated();
      const all = text === delivered.text && (trace !== '') === (delivered.reasoning !== '');
      const texts = [trace, text].filter((part) => part !== '');
      return { all, texts, deltas: pieces.repeatedDeltas() + (trace === '' ? 0 : traceDeltas) };
    },
  );
}

/** Merges an answer that an engine continues from its partial reasoning. */
export function continueReasoning(merge: TextMerge, partial: string): Merge {
  const pieces = mergePieces(merge, 'reasoning-delta');
  let isOver = false;
  return mergeEach(
    (event, out) => {
      if (event.type === 'reasoning-delta' && !isOver) return pieces.push(event, out);
      if (event.type !== 'usage' && !isOver) {
        isOver = true;
        if (!pieces.end(event.choice, out)) return false;
      }
      out.push(event);
      return true;
    },
    () => {
      const text = merge.repeated();
      return { all: text === partial, texts: text === '' ? [] : [text], deltas: pieces.repeatedDeltas() };
    },
  );
}

/** Passes events through a text merge. A piece that is held keeps the probabilities of its tokens. */
function mergePieces(merge: TextMerge, type: TextEvent['type']) {
  let heldUnits = 0;
  let heldDeltas = 0;
  let tokens: unknown[] = [];
  let repeatedDeltas = 0;

  function release(text: string, choice: number, out: AnswerEvent[]): void {
    const removedUnits = heldUnits - text.length;
    const content = withoutFront(tokens, removedUnits);
    // A delta is about one token. The removed part had its share of the deltas.
    const removed = heldUnits === 0 ? 0 : Math.round((heldDeltas * removedUnits) / heldUnits);
    // The model does not write an echo, so the engine does not count it.
    if (merge.repeated() !== '') repeatedDeltas += removed;
    const deltas = heldDeltas - removed;
    heldUnits = 0;
    heldDeltas = 0;
    tokens = [];
    if (text === '' && content.length === 0) return;
    out.push({ type, choice, text, deltas, ...(content.length === 0 ? {} : { logprobs: { content } }) });
  }

  return {
    /** How many of the engine's own deltas were removed because their text was delivered before. */
    repeatedDeltas: (): number => repeatedDeltas,
    /** Adds what is new to `out`. False on a contradiction. */
    push: (event: TextEvent, out: AnswerEvent[]): boolean => {
      const text = merge.push(event.text);
      if (text === undefined) return false;
      if (heldUnits === 0 && text === event.text) {
        if (text !== '' || event.logprobs !== undefined) out.push(event);
        return true;
      }
      heldUnits += event.text.length;
      heldDeltas += event.deltas;
      tokens.push(...(event.logprobs?.content ?? []));
      if (text !== '' || merge.repeated() !== '') release(text, event.choice, out);
      return true;
    },
    /** Call it when no more text comes. False on a contradiction. */
    end: (choice: number, out: AnswerEvent[]): boolean => {
      const text = merge.end();
      if (text === undefined) return false;
      if (heldUnits > 0) release(text, choice, out);
      return true;
    },
  };
}

/** Removes the tokens of the first `units` UTF-16 units, and returns the probabilities of the others. */
function withoutFront(tokens: readonly unknown[], units: number): readonly unknown[] {
  let at = 0;
  let left = units;
  while (left > 0 && at < tokens.length) left -= tokenText(tokens[at++]).length;
  return tokens.slice(at);
}

/** The text of a token, as engines report it beside its probability. */
function tokenText(entry: unknown): string {
  const token = typeof entry === 'object' && entry !== null && 'token' in entry ? entry.token : '';
  return typeof token === 'string' ? token : '';
}

/** Merges a partial text with the text that another engine writes next. Removes what the engine repeats. */
export interface TextMerge {
  /** Returns the new part of a piece. Empty: not known yet. Undefined: the piece does not continue the partial text. */
  readonly push: (piece: string) => string | undefined;
  /** Ends the text, and returns the part that was held. Undefined: this part does not continue the partial text. */
  readonly end: () => string | undefined;
  /** The removed text that the model wrote again, and that its engine counted. */
  readonly repeated: () => string;
}

/**
 * Least length of a partial text whose repetition is removed as an echo, UTF-16 units. There is no limit for engines that are known
 * to echo.
 */
const leastEcho = 24;
/** Least length of a repetition of the last words, in UTF-16 units and in words. A shorter one may be chance. */
const minOverlap = 12;
const minWords = 3;
/** Longest overlap that is looked for, UTF-16 units. */
const farthest = 200;

/**
 * Merges text. Some engines repeat the partial text (`echoes`: this engine is known to). Some models repeat their last words
 * (docs/reference/engines.md §5). Both repetitions are removed. Everything else is new.
 */
export function createTextMerge(partial: string, options: { readonly echoes: boolean }): TextMerge {
  const repeats = repeatsOf(partial, options);
  let held = '';
  let removed = '';
  let isOpen = repeats.length > 0;

  function close(): string {
    isOpen = false;
    removed = repeats.find((text) => held.startsWith(text)) ?? '';
    return held.slice(removed.length);
  }

  return {
    // A known echo comes from the engine, not from its model.
    repeated: () => (options.echoes ? '' : removed),
    push: (piece) => {
      if (!isOpen) return piece;
      held += piece;
      return repeats.some((text) => text.length > held.length && text.startsWith(held)) ? '' : close();
    },
    end: () => {
      if (!isOpen) return '';
      // An echo that is shorter than the partial text belongs to another answer.
      const isCut = held !== '' && held !== partial && partial.startsWith(held);
      if (options.echoes && isCut) return undefined;
      return close();
    },
  };
}

/** The texts that a continued answer may repeat at its beginning: the partial text, or its last words. Longest first. */
function repeatsOf(partial: string, { echoes }: { readonly echoes: boolean }): readonly string[] {
  const isEcho = echoes || (partial.length >= leastEcho && !isPeriodic(partial));
  const repeats = isEcho ? [partial] : [];
  for (let at = Math.max(1, partial.length - farthest); at <= partial.length - minOverlap; at += 1) {
    const isBoundary = /\s/.test(partial.charAt(at)) !== /\s/.test(partial.charAt(at - 1));
    const words = partial.slice(at);
    if (!isBoundary || words.trim().split(/\s+/).length < minWords) continue;
    if (!endsWithTwice(partial, words) && !isPeriodic(words)) repeats.push(words);
  }
  return repeats;
}

/** Whether a text ends with the same piece twice. If so, the same piece again is a continuation, not a repetition. */
const endsWithTwice = (text: string, piece: string): boolean => text.endsWith(piece + piece);

/** Whether a text repeats one piece over and over. If so, the same text again is a continuation, not a repetition. */
function isPeriodic(text: string): boolean {
  const half = text.slice(0, Math.ceil(text.length / 2));
  const period = text.indexOf(half, 1);
  return period !== -1 && text.startsWith(text.slice(period));
}

/**
 * Merges JSON that the caller asked for. An engine under a grammar may begin the value again. The new value is then aligned with
 * the partial text, whatever its white space between tokens. Text that neither repeats nor continues the partial text is refused.
 */
export function createJsonMerge(partial: string): TextMerge {
  const again = watchJson(partial);
  let held = '';
  let isOpen = !again.isComplete();

  /** Returns the held text if it continues the partial text. */
  function continued(): string | undefined {
    if (readJsonBeginning(partial + held) === undefined) return undefined;
    isOpen = false;
    return held;
  }

  return {
    repeated: () => (again.isComplete() ? partial : ''),
    push: (piece) => {
      if (!isOpen) return piece;
      held += piece;
      const fresh = again.push(piece);
      if (fresh === undefined) return continued();
      isOpen = !again.isComplete();
      return fresh;
    },
    end: () => (isOpen ? continued() : ''),
  };
}
