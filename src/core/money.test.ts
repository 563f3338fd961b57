import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf } from './money.ts';

const tokens = fc.nat(2_000_000_000);
const price = fc.bigInt(0n, 10n ** 12n);
const prices = fc.record({ prompt: price, completion: price, inputCacheRead: price });

describe('the cost of an answer', () => {
  it('is exactly the sum of its tokens at their prices', () => {
    fc.assert(
      fc.property(tokens, tokens, tokens, prices, (cached, rest, completion, each) => {
        const cost = costOf({ promptTokens: cached + rest, completionTokens: completion, cachedTokens: cached }, each);
        expect(cost).toBe(
          BigInt(rest) * each.prompt + BigInt(cached) * each.inputCacheRead + BigInt(completion) * each.completion,
        );
      }),
    );
  });

  it('adds up: two answers cost what one of both would', () => {
    const usage = fc.record({ promptTokens: tokens, completionTokens: tokens });
    fc.assert(
      fc.property(usage, usage, prices, (a, b, each) => {
        const both = {
          promptTokens: a.promptTokens + b.promptTokens,
          completionTokens: a.completionTokens + b.completionTokens,
        };
        expect(costOf(both, each)).toBe(costOf(a, each) + costOf(b, each));
      }),
    );
  });

  it('takes cached tokens that were not reported for none, and more than the prompt for all of it', () => {
    const each = { prompt: 10n, completion: 100n, inputCacheRead: 1n };
    expect(costOf({ promptTokens: 5, completionTokens: 2 }, each)).toBe(250n);
    expect(costOf({ promptTokens: 5, completionTokens: 2, cachedTokens: 0 }, each)).toBe(250n);
    expect(costOf({ promptTokens: 5, completionTokens: 2, cachedTokens: 9 }, each)).toBe(205n);
  });

  it('bills reasoning as the output it is part of, once', () => {
    const each = { prompt: 1n, completion: 1n, inputCacheRead: 1n };
    expect(costOf({ promptTokens: 1, completionTokens: 5, reasoningTokens: 4 }, each)).toBe(6n);
  });

  it('bills each search of the web, where that has a price', () => {
    const each = { prompt: 1n, completion: 1n, inputCacheRead: 1n };
    const usage = { promptTokens: 1, completionTokens: 1, webSearches: 3 };
    expect(costOf(usage, { ...each, webSearch: 100n })).toBe(302n);
    expect(costOf(usage, each)).toBe(2n);
    expect(costOf({ promptTokens: 1, completionTokens: 1 }, { ...each, webSearch: 100n })).toBe(2n);
  });
});
