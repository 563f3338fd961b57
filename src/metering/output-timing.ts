import type { OutputTiming } from '../core/account.ts';
import { deltasOf, type RelayedEvent } from '../core/event.ts';
import type { Usage } from '../core/money.ts';

/** Sees what of an answer is delivered when. */
export interface OutputWatch {
  readonly take: (events: readonly RelayedEvent[], elapsedMs: number) => void;
  /** The timing of the whole, with what was counted of it. Undefined where there is none to tell of one answer. */
  readonly timing: (usage: Usage) => OutputTiming | undefined;
}

export function createOutputWatch(): OutputWatch {
  let firstMs: number | undefined;
  let lastMs = 0;
  let tokensAtFirst = 0;
  let choices = 1;
  let hasReasoning = false;
  let hasSearched = false;

  return {
    take: (events, elapsedMs) => {
      let deltas = 0;
      for (const event of events) {
        if (event.type === 'usage' || event.type === 'finish') continue;
        if (event.type === 'search-call' || event.type === 'search-result') {
          hasSearched = true;
          continue;
        }
        deltas += deltasOf(event);
        choices = Math.max(choices, event.choice + 1);
        hasReasoning ||= event.type === 'reasoning-delta';
      }
      if (deltas === 0) return;
      if (firstMs === undefined) tokensAtFirst = deltas;
      firstMs ??= elapsedMs;
      lastMs = elapsedMs;
    },
    timing: ({ completionTokens, reasoningTokens = 0 }) => {
      // What it waited for a search is nobody's pace.
      if (firstMs === undefined || choices > 1 || hasSearched) return undefined;
      const tokens = completionTokens - (hasReasoning ? 0 : reasoningTokens);
      // A count that contradicts what was seen would give a pace that nobody delivered.
      return tokens <= 0 ? undefined : { tokens, tokensAtFirst, firstMs, lastMs };
    },
  };
}
