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

/** llama.cpp's llama-server with `--jinja`. Checked against a real one in test/engine. */
export const llamacpp: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    // One answer at a time: it refuses any other `n`.
    parameters: openModelParameters.filter((name) => name !== 'n'),
    // Both want the grammar.
    conflicts: [['tools', 'response_format']],
    reasoning: { off: true, efforts: everyEffort, budget: false },
    systemMessages: 'Leading',
    continuation: 'echo',
    continuesReasoning: true,
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'include',
  names: { repetition_penalty: 'repeat_penalty' },
  // It takes `tool_choice` as text only, and anything else for `auto`.
  namedToolAlone: true,
  strictTools: true,
  writeReasoning: byTemplate,
  writeResponseFormat: usualResponseFormat,
};
