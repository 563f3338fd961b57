import { z } from 'zod';

/** An amount in units of 10⁻¹² USD. Money is never a float. */
export type Money = bigint;

const decimals = 12;
const scale = 10n ** BigInt(decimals);

/** The largest balance a workspace may hold: $9,000,000, so that every amount fits a signed 64-bit column. */
export const maxBalance: Money = 9_000_000n * scale;

/**
 * Reads a decimal string in USD ("0.00000015", "25", "-3.5") exactly.
 * Returns undefined when it is not a plain decimal or has more than 12 decimals.
 */
export function parseUsd(text: string): Money | undefined {
  const match = /^(-?)(\d{1,18})(?:\.(\d{1,12}))?$/.exec(text);
  if (!match) return undefined;
  const [, sign, whole, fraction = ''] = match;
  const amount = BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
  return sign === '-' ? -amount : amount;
}

/** The form that `parseSpendable` reads, in words for messages. */
export const spendableForm = 'an amount in USD such as 25 or 0.0005, with at most 12 decimals and at most 9000000';

/** Reads an amount from 0 to `maxBalance`. Returns undefined for any other text. */
export function parseSpendable(text: string): Money | undefined {
  const amount = parseUsd(text);
  return amount === undefined || amount < 0n || amount > maxBalance ? undefined : amount;
}

/** Prints an amount as a decimal string in USD, exactly, without trailing zeros: 150000n is "0.00000015". */
export function formatUsd(amount: Money): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, -decimals);
  return `${amount < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

export const usdSchema = z
  .string()
  .regex(/^-?\d+(\.\d{1,12})?$/)
  .meta({ description: 'USD, an exact decimal.', example: '12.5' });

/**
 * Token counts of one answer. Absent is not zero: a count that was not reported is undefined.
 * docs/reference/api.md §2.4.
 */
export interface Usage {
  readonly promptTokens: number;
  /** Output tokens, reasoning included. */
  readonly completionTokens: number;
  /** Part of the prompt that is billed at the cached rate. */
  readonly cachedTokens?: number | undefined;
  /** Part of the completion that was reasoning. */
  readonly reasoningTokens?: number | undefined;
  /** Web searches that brought a result; absent if the request asked for none. */
  readonly webSearches?: number | undefined;
}

/**
 * The source of a count, the most exact first: the engine that answered, the model's own tokenizer, or an estimate. The
 * ledger stores the position, so a name that is added in between needs its own code there.
 */
export const countSources = ['engine', 'tokenizer', 'estimate'] as const;
export type CountedBy = (typeof countSources)[number];

/** The source of a sum: that of its least exact part. */
export function leastExact(one: CountedBy, other: CountedBy): CountedBy {
  return countSources.indexOf(one) > countSources.indexOf(other) ? one : other;
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

/** The billed counts and their cost, which the caller gets. */
export interface Bill {
  readonly usage: Usage;
  readonly cost: Money;
}
