import {
  bothTransports,
  type Engine,
  everyFormat,
  everyToolChoice,
  usualParameters,
  usualResponseFormat,
} from './engine.ts';

/** Together. Which of its models takes which reasoning control differs: a route overrides what it knows. */
export const together: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: [
      ...usualParameters,
      ...(['seed', 'n', 'logit_bias', 'frequency_penalty', 'presence_penalty'] as const),
      ...(['top_k', 'min_p', 'repetition_penalty'] as const),
    ],
    conflicts: [],
    reasoning: { off: true, efforts: ['low', 'medium', 'high'], budget: false },
    systemMessages: 'Anywhere',
    continuation: 'none',
  },
  capField: 'max_tokens',
  reasoningField: 'none',
  streamUsage: 'include',
  strictTools: false,
  writeReasoning: (setting) => ({
    reasoning: { enabled: setting.enabled },
    ...(setting.enabled && setting.effort !== undefined ? { reasoning_effort: setting.effort } : {}),
  }),
  writeResponseFormat: usualResponseFormat,
};
