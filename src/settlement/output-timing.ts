import type { OutputTiming } from '../core/account.ts';
import { type AnswerEvent, deltasOf } from '../core/event.ts';
import type { Usage } from '../core/usage.ts';

/** Sees what of an answer is delivered when. */
export interface OutputWatch {
  readonly take: (events: readonly AnswerEvent[], elapsedMs: number) => void;
  /** The timing of the whole, with what was counted of it. Undefined where there is none to tell of one answer. */
  readonly timing: (usage: Usage) => OutputTiming | undefined;
}

export function createOutputWatch(): OutputWatch {
  let firstMs: number | undefined;
  let lastMs = 0;
  let tokensAtFirst = 0;
  let choices = 1;
  let hasReasoning = false;

  return {
    take: (events, elapsedMs) => {
      let deltas = 0;
      for (const event of events) {
        if (event.type === 'usage' || event.type === 'finish') continue;
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
      if (firstMs === undefined || choices > 1) return undefined;
      const tokens = completionTokens - (hasReasoning ? 0 : reasoningTokens);
      // A count that contradicts what was seen would give a pace that nobody delivered.
      return tokens <= 0 ? undefined : { tokens, tokensAtFirst, firstMs, lastMs };
    },
  };
}
