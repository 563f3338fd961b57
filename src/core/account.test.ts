import { expect, it } from 'vitest';
import { isCounted } from './account.ts';

it.each([
  ['failed', { promptTokens: 0, completionTokens: 0 }, false],
  ['cancelled', { promptTokens: 0, completionTokens: 0 }, false],
  ['cancelled', { promptTokens: 0, completionTokens: 0, webSearches: 0 }, false],
  ['cancelled', { promptTokens: 0, completionTokens: 0, webSearches: 1 }, true],
  ['interrupted', { promptTokens: 0, completionTokens: 3 }, true],
  // An engine may report 0 tokens.
  ['completed', { promptTokens: 0, completionTokens: 0 }, true],
] as const)('of a request that %s with %j, there was something to count: %s', (kind, usage, counted) => {
  expect(isCounted({ kind, usage })).toBe(counted);
});
