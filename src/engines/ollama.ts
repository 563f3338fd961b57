import {
  bothTransports,
  byEffort,
  type Engine,
  everyEffort,
  everyFormat,
  usualParameters,
  usualResponseFormat,
} from './engine.ts';

/** Ollama's OpenAI-compatible endpoint. It ignores tool_choice, so only what it does anyway is offered. */
export const ollama: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: ['auto'],
    responseFormats: everyFormat,
    parameters: [...usualParameters, 'seed', 'frequency_penalty', 'presence_penalty'],
    conflicts: [],
    reasoning: { off: true, efforts: everyEffort, budget: false },
    systemMessages: 'Anywhere',
    continuation: 'trailing',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning',
  streamUsage: 'include',
  strictTools: false,
  writeReasoning: byEffort,
  writeResponseFormat: usualResponseFormat,
};
