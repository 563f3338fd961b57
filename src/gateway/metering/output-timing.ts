import type { OutputTiming } from '../../core/account.ts';
import { deltasOf, type RelayedEvent } from '../../core/event.ts';
import type { Usage } from '../../core/money.ts';

/** Notes when the pieces of an answer are delivered. */
export function createOutputWatch() {
  let firstMs: number | undefined;
  let lastMs = 0;
  let tokensAtFirst = 0;
  let choices = 1;
  let hasReasoning = false;
  let hasSearched = false;

  return {
    take: (events: readonly RelayedEvent[], elapsedMs: number): void => {
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
    /**
     * The timing of the whole answer, with its count of tokens. Undefined without output, with several choices, and after
     * a search.
     */
    timing: ({ completionTokens, reasoningTokens = 0 }: Usage): OutputTiming | undefined => {
      // The time that a search took is not the pace of the engine.
      if (firstMs === undefined || choices > 1 || hasSearched) return undefined;
      const tokens = completionTokens - (hasReasoning ? 0 : reasoningTokens);
      // If the engine's count contradicts the delivered output, there is no pace.
      return tokens <= 0 ? undefined : { tokens, tokensAtFirst, firstMs, lastMs };
    },
  };
}
