import { expect, it } from 'vitest';
import { toldFaults } from './check-told.ts';

const billed = { promptTokens: 12, completionTokens: 7, cachedTokens: 4, reasoningTokens: 2 };
const usages = {
  chat: {
    ...{ prompt_tokens: 12, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 4 } },
    completion_tokens_details: { reasoning_tokens: 2 },
  },
  messages: {
    ...{ input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 7 },
    output_tokens_details: { thinking_tokens: 2 },
  },
  responses: {
    ...{ input_tokens: 12, input_tokens_details: { cached_tokens: 4 }, output_tokens: 7 },
    output_tokens_details: { reasoning_tokens: 2 },
  },
};

it.each(['chat', 'messages', 'responses'] as const)('compares each count of a usage of %s with the bill', (surface) => {
  expect(toldFaults(surface, usages[surface], billed)).toEqual([]);
  for (const name of ['promptTokens', 'completionTokens', 'cachedTokens', 'reasoningTokens'] as const)
    expect(toldFaults(surface, usages[surface], { ...billed, [name]: billed[name] + 1 })).toEqual([
      `told ${billed[name]} ${name}, billed ${billed[name] + 1}`,
    ]);
});
