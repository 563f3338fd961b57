import { describe, expect, it } from 'vitest';
import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import { createHeldBlocks } from './held-blocks.ts';

const blockTokens = 1000;
const prompt = (...digests: readonly number[]): PoolPrompt => ({
  digests,
  ends: digests.map((_, index) => (index + 1) * blockTokens),
  tokens: digests.length * blockTokens + 10,
});
const blocksFrom = (first: number, count: number): PoolPrompt =>
  prompt(...Array.from({ length: count }, (_, index) => first + index));

describe('the blocks that an endpoint holds', () => {
  it('are found at the length that two prompts share', () => {
    const held = createHeldBlocks();
    expect(held.tokensOf(prompt(1, 2, 3))).toBe(0);
    held.use(prompt(1, 2, 3, 4, 5));
    for (const [other, tokens] of [
      [prompt(1, 2, 3, 4, 5, 6), 5000],
      [prompt(1, 2, 3, 7), 3000],
      [prompt(1), 1000],
      [prompt(8, 9), 0],
      [prompt(), 0],
    ] as const)
      expect(held.tokensOf(other)).toBe(tokens);
  });

  it('stay after the prompt has left, and the least recently used ones are forgotten first, the end before the beginning', () => {
    const held = createHeldBlocks();
    const old = blocksFrom(0, 200);
    held.use(old);
    held.leave(old);
    const younger = blocksFrom(1000, 200);
    held.use(younger);
    held.leave(younger);
    expect(held.tokensOf(younger)).toBe(200_000);
    // 300,000 tokens are assumed: 100 of the older blocks are left.
    expect(held.tokensOf(old)).toBe(100_000);
  });

  it('are not forgotten while a prompt uses them', () => {
    const held = createHeldBlocks();
    const first = blocksFrom(0, 250);
    held.use(first);
    const other = blocksFrom(1000, 250);
    held.use(other);
    held.leave(other);
    expect(held.tokensOf(first)).toBe(250_000);
    expect(held.tokensOf(other)).toBe(50_000);
  });

  it('of two prompts stay until both have left', () => {
    const held = createHeldBlocks();
    const first = blocksFrom(0, 150);
    held.use(first);
    held.use(first);
    held.leave(first);
    held.use(blocksFrom(1000, 250));
    expect(held.tokensOf(first)).toBe(150_000);
    held.leave(first);
    expect(held.tokensOf(first)).toBe(50_000);
  });

  it('become as many as the engine reports to hold', () => {
    const held = createHeldBlocks();
    // An engine of 100,000 tokens in turn for three prompts of 60,000: it holds one of them and two thirds of the last.
    for (let round = 0; round < 60; round += 1) held.reported({ expected: 60_000, actual: 0, scale: 1 });
    const first = blocksFrom(0, 60);
    held.use(first);
    held.leave(first);
    expect(held.tokensOf(first)).toBeLessThan(20_000);
    for (let round = 0; round < 60; round += 1) held.reported({ expected: 0, actual: 60_000, scale: 1 });
    held.use(first);
    held.leave(first);
    expect(held.tokensOf(first)).toBe(60_000);
  });

  it('follow reports of missing tokens also where the service counts fewer tokens than the engine', () => {
    const after = (scale: number): number => {
      const held = createHeldBlocks();
      // 3000 tokens of the engine were expected in its cache, and 600 are there.
      for (let round = 0; round < 10; round += 1) held.reported({ expected: 3000 * scale, actual: 600, scale });
      return held.capacity();
    };
    expect(after(1)).toBeLessThan(200_000);
    expect(after(0.16)).toBe(after(1));
  });

  it('are bounded in number', () => {
    const held = createHeldBlocks();
    for (let round = 0; round < 200; round += 1) held.reported({ expected: 0, actual: 60_000, scale: 1 });
    const many = { digests: Array.from({ length: 40_000 }, (_, index) => index), tokens: 40_000 };
    const all = { ...many, ends: many.digests.map((_, index) => index + 1) };
    held.use(all);
    held.leave(all);
    expect(held.size()).toBe(16_384);
  });
});
