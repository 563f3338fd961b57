import {
  bothTransports,
  byTemplate,
  type Engine,
  everyEffort,
  everyFormat,
  everyToolChoice,
  usualParameters,
  usualResponseFormat,
} from './engine.ts';

/** SGLang's OpenAI-compatible server. engines.md §3 to §7. */
export const sglang: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: [
      ...usualParameters,
      ...(['seed', 'n', 'logprobs', 'top_logprobs', 'logit_bias', 'frequency_penalty', 'presence_penalty'] as const),
      ...(['parallel_tool_calls', 'top_k', 'min_p', 'repetition_penalty'] as const),
    ],
    conflicts: [['tool_choice', 'response_format']],
    reasoning: { off: true, efforts: everyEffort, budget: false },
    continuation: 'flag',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'continuous',
  strictTools: true,
  writeReasoning: byTemplate,
  writeResponseFormat: usualResponseFormat,
};
