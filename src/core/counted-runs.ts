import type { RelayedEvent } from './event.ts';

/**
 * Delivered text that is still to be counted, in runs: an engine writes reasoning, text and calls apart, so no token spans
 * two of them.
 */
export interface CountedRuns {
  readonly take: (event: RelayedEvent) => void;
  readonly clear: () => void;
  readonly texts: () => readonly string[];
  /** UTF-16 units in all. */
  readonly length: () => number;
}

/** Starts without any. */
export function createRuns(): CountedRuns {
  let texts: string[] = [];
  let last = '';
  let length = 0;

  function add(kind: string, text: string): void {
    if (text === '') return;
    if (kind === last) texts[texts.length - 1] += text;
    else texts.push(text);
    last = kind;
    length += text.length;
  }

  return {
    length: () => length,
    texts: () => texts,
    clear: () => {
      texts = [];
      last = '';
      length = 0;
    },
    take: (event) => {
      switch (event.type) {
        case 'usage':
        case 'finish':
        // Counted before it was told.
        case 'search-call':
        case 'search-result':
          return;
        case 'tool-start':
          add(`name ${event.choice} ${event.tool}`, event.name);
          return;
        case 'tool-delta':
          add(`arguments ${event.choice} ${event.tool}`, event.text);
          return;
        case 'text-delta':
        case 'reasoning-delta':
        case 'refusal-delta':
          add(`${event.type} ${event.choice}`, event.text);
          return;
      }
    },
  };
}

/** Tokens of all runs together; undefined when one of them cannot be counted. */
export async function countRuns(
  texts: readonly string[],
  countText: (text: string) => Promise<number | undefined>,
): Promise<number | undefined> {
  let sum = 0;
  for (const count of await Promise.all(texts.map(countText))) {
    if (count === undefined) return undefined;
    sum += count;
  }
  return sum;
}
