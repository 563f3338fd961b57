import {
  bothTransports,
  byTemplate,
  type Engine,
  everyEffort,
  everyFormat,
  everyToolChoice,
  openModelParameters,
  usualResponseFormat,
} from './engine.ts';

/** vLLM's OpenAI-compatible server, 0.16 and newer. docs/reference/engines.md §3 to §7. */
export const vllm: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: openModelParameters,
    // A forced tool is guided decoding, and so is a schema: one at a time.
    conflicts: [['tool_choice', 'response_format']],
    reasoning: { off: true, efforts: everyEffort, budget: true },
    systemMessages: 'Leading',
    continuation: 'flag',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning',
  streamUsage: 'continuous',
  strictTools: true,
  writeReasoning: (setting) => ({
    ...byTemplate(setting),
    ...(setting.enabled && setting.budgetTokens !== undefined ? { thinking_token_budget: setting.budgetTokens } : {}),
  }),
  writeResponseFormat: usualResponseFormat,
};
