import {
  bothTransports,
  byEffort,
  byTemplate,
  type Engine,
  everyEffort,
  everyFormat,
  everyToolChoice,
  usualResponseFormat,
} from './engine.ts';

/** vLLM's OpenAI-compatible server, 0.16 and newer. docs/reference/engines.md §3 to §7. */
export const vllm: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
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

/** SGLang's OpenAI-compatible server. docs/reference/engines.md §3 to §7. */
export const sglang: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
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

/** llama.cpp's llama-server with `--jinja`. Checked against a real one in test/engine. */
export const llamacpp: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
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
  // It takes `tool_choice` as text only, and anything else for `auto`.
  namedToolAlone: true,
  strictTools: true,
  writeReasoning: byTemplate,
  writeResponseFormat: usualResponseFormat,
};

/** Ollama's OpenAI-compatible endpoint. It ignores tool_choice, so only its default behaviour is offered. */
export const ollama: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: ['auto'],
    responseFormats: everyFormat,
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

/** Hugging Face text-generation-inference. It has no reasoning control and no continuation in chat. */
export const tgi: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
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
