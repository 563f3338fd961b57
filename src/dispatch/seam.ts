import { createJsonPrefix } from './json-prefix.ts';
import { watchJson } from './text-watch.ts';

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
