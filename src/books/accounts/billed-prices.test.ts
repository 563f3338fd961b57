// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleDatabase } from '../../../test/support/sample-database.ts';
import { billedPrices } from './billed-prices.ts';
import { recordModelPrices } from './model-prices.ts';

const second = 1_000;
const usage = { promptTokens: 100, completionTokens: 10, cachedTokens: 40 };
// At 2, 5 and 1 millionths of a USD: 60 × 2 + 10 × 5 + 40 × 1 = 210.
const atFirst = { prompt: 2_000_000n, completion: 5_000_000n, inputCacheRead: 1_000_000n };
const request = { modelId: 'a/a', startedAt: 100 * second, usage, cost: 210_000_000n };

/** A model with a price from a second on, which doubles later. */
async function pricedModel(...changes: readonly (readonly [at: number, prompt: string])[]) {
  const { queries } = await sampleDatabase();
  for (const [now, prompt] of changes) {
    const prices = { prompt, completion: '0.000005', input_cache_read: '0.000001' };
    const by = { actor: { kind: 'service', name: 'prices' }, now } as const;
    await recordModelPrices(queries, new Map([['a/a', prices]]), by);
  }
  return (changed: Partial<typeof request> = {}) => billedPrices(queries, { ...request, ...changed });
}

describe('the unit prices of a bill', () => {
  it('are those in force, if they give the cost', async () => {
    const priced = await pricedModel([1, '0.000002'], [200 * second, '0.000004']);
    expect(await priced()).toEqual(atFirst);
    expect(await priced({ startedAt: 300 * second, cost: 330_000_000n })).toEqual({ ...atFirst, prompt: 4_000_000n });
  });

  it('are the next ones, if the change was recorded after the request', async () => {
    const priced = await pricedModel([1, '0.000004'], [110 * second, '0.000002']);
    expect(await priced()).toEqual(atFirst);
    // The first price that was ever recorded.
    expect(await (await pricedModel([110 * second, '0.000002']))()).toEqual(atFirst);
  });

  it('are not known, if no price of that time gives the cost', async () => {
    const priced = await pricedModel([1, '0.000002'], [2, '0.000004'], [3, '0.000003']);
    expect(await priced()).toBeUndefined();
    expect(await priced({ modelId: 'b/b' })).toBeUndefined();
    expect(await priced({ cost: 0n })).toBeUndefined();
  });

  it('are not known, if two prices give the cost', async () => {
    const priced = await pricedModel([1, '0.000002'], [110 * second, '0.000004']);
    const unprompted = { usage: { promptTokens: 40, completionTokens: 10, cachedTokens: 40 }, cost: 90_000_000n };
    expect(await priced(unprompted)).toBeUndefined();
  });

  it('contain the price of a search, which is the rest, if no other price can have been in force', async () => {
    const searched = { usage: { ...usage, webSearches: 2 }, cost: 210_000_000n + 2n * 7n };
    expect(await (await pricedModel([1, '0.000002']))(searched)).toEqual({ ...atFirst, webSearch: 7n });
    const changed = await pricedModel([1, '0.000002'], [110 * second, '0.000004']);
    expect(await changed(searched)).toBeUndefined();
    expect(await (await pricedModel([1, '0.000002']))({ ...searched, cost: 210_000_001n })).toBeUndefined();
  });
});
