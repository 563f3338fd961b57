import {
  bothTransports,
  byThinking,
  type Engine,
  everyToolChoice,
  objectFormat,
  usualParameters,
  usualResponseFormat,
} from './engine.ts';

/** DeepSeek's own API. Its continuation is on another base path (`/beta`), so a route must say that it is there. */
export const deepseek: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: objectFormat,
    parameters: [...usualParameters, 'logprobs', 'top_logprobs', 'frequency_penalty', 'presence_penalty'],
    conflicts: [['logprobs', 'reasoning']],
    reasoning: { off: true, efforts: ['low', 'high', 'max'], budget: false },
    systemMessages: 'Anywhere',
    continuation: 'none',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'include',
  strictTools: false,
  writeReasoning: byThinking,
  writeResponseFormat: usualResponseFormat,
};
