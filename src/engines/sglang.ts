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

/** SGLang's OpenAI-compatible server. docs/reference/engines.md §3 to §7. */
export const sglang: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: openModelParameters,
    conflicts: [['tool_choice', 'response_format']],
    reasoning: { off: true, efforts: everyEffort, budget: false },
    systemMessages: 'Leading',
    continuation: 'flag',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'continuous',
  strictTools: true,
  writeReasoning: byTemplate,
  writeResponseFormat: usualResponseFormat,
};
