import type { Money } from './money.ts';

/**
 * Token counts of one answer. Absent is not zero: a count that nobody reported is undefined.
 * docs/reference/api.md §2.4.
 */
export interface Usage {
  readonly promptTokens: number;
  /** Output tokens, reasoning included. */
  readonly completionTokens: number;
  /** Part of the prompt billed at the cached rate. */
  readonly cachedTokens?: number | undefined;
  /** Part of the completion that was reasoning. */
  readonly reasoningTokens?: number | undefined;
  /** Searches of the web that brought a result; absent where none were asked for. */
  readonly webSearches?: number | undefined;
}

/** Who counted, the most exact first: the engine that answered, the model's own tokenizer, or nobody. */
const exactness = ['engine', 'tokenizer', 'estimate'] as const;
export type CountedBy = (typeof exactness)[number];

/** What a sum is worth: as much as its least exact part. */
export function leastExact(one: CountedBy, other: CountedBy): CountedBy {
  return exactness.indexOf(one) > exactness.indexOf(other) ? one : other;
}

/** USD per token, and per search of the web, in units of 10⁻¹² USD. */
export interface Prices {
  readonly prompt: Money;
  readonly completion: Money;
  readonly inputCacheRead: Money;
  /** Absent: searches are free. */
  readonly webSearch?: Money;
}

/** The exact price of an answer. Cached tokens never exceed the prompt's. */
export function costOf(usage: Usage, prices: Prices): Money {
  const cached = BigInt(Math.min(usage.cachedTokens ?? 0, usage.promptTokens));
  const prompt = BigInt(usage.promptTokens) - cached;
  const searches = BigInt(usage.webSearches ?? 0) * (prices.webSearch ?? 0n);
  return (
    prompt * prices.prompt +
    cached * prices.inputCacheRead +
    BigInt(usage.completionTokens) * prices.completion +
    searches
  );
}

/** What was billed, for the caller to see. */
export interface Bill {
  readonly usage: Usage;
  readonly cost: Money;
}
