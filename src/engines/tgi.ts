import { bothTransports, type Engine, everyFormat, everyToolChoice, usualParameters } from './engine.ts';

/** Hugging Face text-generation-inference. It has no reasoning control and no continuation in chat. */
export const tgi: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: [...usualParameters, 'seed', 'logprobs', 'top_logprobs', 'frequency_penalty'],
    // Tools are a grammar there, as structured output is.
    conflicts: [['tools', 'response_format']],
    reasoning: { off: false, efforts: [], budget: false },
    inlineReasoning: { tags: ['think'], implicitOpen: false },
    systemMessages: 'Leading',
    continuation: 'none',
  },
  capField: 'max_tokens',
  reasoningField: 'none',
  streamUsage: 'include',
  strictTools: false,
  writeReasoning: () => ({}),
  // Adjacently tagged: what the format holds is in `value`. Without a schema any object will do.
  writeResponseFormat: (format) => ({
    response_format: {
      type: 'json_object',
      value: format.type === 'json_schema' && format.schema !== undefined ? format.schema : { type: 'object' },
    },
  }),
};
