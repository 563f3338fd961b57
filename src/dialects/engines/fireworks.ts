import {
  bothTransports,
  type Engine,
  everyFormat,
  everyToolChoice,
  usualParameters,
  usualResponseFormat,
} from './engine.ts';

/** Fireworks. It takes a level or a budget, never both, and refuses `reasoning` on replayed messages. */
export const fireworks: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: [
      ...usualParameters,
      ...(['seed', 'n', 'logprobs', 'top_logprobs', 'logit_bias', 'frequency_penalty', 'presence_penalty'] as const),
      ...(['parallel_tool_calls', 'top_k', 'min_p', 'repetition_penalty'] as const),
    ],
    conflicts: [],
    reasoning: { off: true, efforts: ['low', 'medium', 'high'], budget: true },
    continuation: 'none',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'include',
  strictTools: true,
  writeReasoning: (setting) => {
    if (!setting.enabled) return { reasoning_effort: 'none' };
    if (setting.budgetTokens !== undefined) {
      // Its least budget.
      return { thinking: { type: 'enabled', budget_tokens: Math.max(1024, setting.budgetTokens) } };
    }
    return setting.effort === undefined ? {} : { reasoning_effort: setting.effort };
  },
  writeResponseFormat: usualResponseFormat,
};
