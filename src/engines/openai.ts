import {
  bothTransports,
  byEffort,
  type Engine,
  everyFormat,
  everyToolChoice,
  usualParameters,
  usualResponseFormat,
} from './engine.ts';

/** The public wire format itself, and any server that follows it to the letter. docs/reference/engines.md §1. */
export const openai: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: [
      ...usualParameters,
      ...(['seed', 'n', 'logprobs', 'top_logprobs', 'logit_bias'] as const),
      ...(['frequency_penalty', 'presence_penalty', 'parallel_tool_calls'] as const),
    ],
    conflicts: [],
    reasoning: { off: true, efforts: ['low', 'medium', 'high'], budget: false },
    systemMessages: 'Anywhere',
    continuation: 'none',
  },
  capField: 'max_completion_tokens',
  reasoningField: 'none',
  streamUsage: 'include',
  strictTools: true,
  writeReasoning: byEffort,
  writeResponseFormat: usualResponseFormat,
};
