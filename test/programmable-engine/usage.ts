import type { Behaviour } from './behaviour.ts';
import type { JsonObject } from './json-value.ts';

/** What was really read and written. */
export interface TokenCount {
  readonly prompt: number;
  readonly cached: number;
  /** Reasoning included. */
  readonly completion: number;
  readonly reasoning: number;
}

/** The usage block in the shape asked for; undefined when it is to be left out, null when it is to be null. */
export function usageBlock(count: TokenCount, shape: Behaviour['usage']): JsonObject | null | undefined {
  const totals = {
    prompt_tokens: count.prompt,
    completion_tokens: count.completion,
    total_tokens: count.prompt + count.completion,
  };
  const cached = { prompt_tokens_details: { cached_tokens: count.cached } };
  const reasoned = { completion_tokens_details: { reasoning_tokens: count.reasoning } };
  switch (shape) {
    case undefined:
    case 'honest':
      return { ...totals, ...cached, ...reasoned };
    case 'absent':
      return undefined;
    case 'null':
      return null;
    case 'zeros':
      return { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    case 'total-mismatch':
      return { ...totals, total_tokens: totals.total_tokens + 17, ...cached, ...reasoned };
    case 'no-details':
      return totals;
    case 'null-details':
      return { ...totals, prompt_tokens_details: null, completion_tokens_details: null };
    case 'reasoning-excluded':
      return { ...totals, completion_tokens: count.completion - count.reasoning, ...cached, ...reasoned };
    case 'reasoning-top-level':
      return { ...totals, ...(count.cached > 0 ? cached : {}), reasoning_tokens: count.reasoning };
    case 'cached-top-level':
      return { ...totals, cached_tokens: count.cached, ...reasoned };
    case 'cache-hit-miss':
      return {
        ...totals,
        prompt_cache_hit_tokens: count.cached,
        prompt_cache_miss_tokens: count.prompt - count.cached,
        ...reasoned,
      };
    case 'cached-above-prompt':
      return { ...totals, prompt_tokens_details: { cached_tokens: count.prompt + 5 }, ...reasoned };
    case 'no-cached-when-zero':
      return { ...totals, ...(count.cached > 0 ? cached : {}), ...reasoned };
  }
}
