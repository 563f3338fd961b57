import { toolChoiceForms } from '../../core/capability.ts';
import { withoutMember } from '../../core/json-text.ts';
import type { ProviderName } from '../../core/engine-name.ts';
import { byEffort, byThinking, type Engine, everyFormat, objectFormat, usualResponseFormat } from './engine.ts';

/** The public wire format itself, for OpenAI and any server that follows it exactly. docs/reference/engines.md §1. */
export const openai: Engine = {
  capabilities: {
    tools: { json: true, stream: true },
    toolChoice: toolChoiceForms,
    responseFormats: everyFormat,
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
  embeddings: { base64: true, dimensions: true, tokenIds: true, maxInputs: 2048 },
  rerank: { form: 'cohere', scores: 'Probability', documentLimit: 'max_tokens_per_doc' },
};

/** DeepSeek's own API. It continues answers on another base path (`/beta`), so a route must declare that ability. */
const deepseek: Engine = {
  ...openai,
  capabilities: {
    ...openai.capabilities,
    responseFormats: objectFormat,
    conflicts: [['logprobs', 'reasoning']],
    reasoning: { off: true, efforts: ['low', 'high', 'max'], budget: false },
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  strictTools: false,
  demands: { missingTrace: '' },
  writeReasoning: byThinking,
  embeddings: undefined,
  rerank: undefined,
};

/** Alibaba's DashScope in its compatible mode. It continues answers only of listed models, and never while they think. */
const dashscope: Engine = {
  ...deepseek,
  capabilities: {
    ...deepseek.capabilities,
    toolChoice: ['auto', 'none', 'named'],
    conflicts: [
      ['response_format', 'reasoning'],
      ['n', 'tools'],
      ['tool_choice', 'reasoning'],
    ],
    reasoning: { off: true, efforts: [], budget: true },
  },
  demands: {},
  writeReasoning: (setting) => ({
    enable_thinking: setting.enabled,
    thinking_budget: setting.enabled ? setting.budgetTokens : undefined,
  }),
  embeddings: { base64: false, dimensions: true, tokenIds: false, maxInputs: 10 },
  rerank: undefined,
};

/** Moonshot's API. */
const moonshot: Engine = {
  ...deepseek,
  capabilities: {
    ...deepseek.capabilities,
    toolChoice: ['auto', 'none'],
    responseFormats: everyFormat,
    conflicts: [],
    continuation: 'partial',
  },
  capField: 'max_completion_tokens',
  // An empty trace is a missing one here, and so is an empty text.
  demands: { missingTrace: ' ', missingText: ' ' },
  writeResponseFormat: (format) => {
    if (format.type !== 'json_schema' || format.schema === undefined) return usualResponseFormat(format);
    // With `$schema`, requests to some of Moonshot's models fail.
    return usualResponseFormat({ ...format, schema: withoutMember(format.schema, '$schema') });
  },
};

/** Z.ai's GLM API. It refuses stream_options and sends usage at the end of every stream. */
const zai: Engine = {
  ...deepseek,
  capabilities: { ...deepseek.capabilities, toolChoice: ['auto'], conflicts: [] },
  demands: {},
  streamUsage: 'always',
  // Without `tool_stream`, the arguments of a call arrive as one chunk, after minutes of silence.
  extra: ({ stream, sendsTools }) => (stream && sendsTools ? { tool_stream: true } : {}),
  embeddings: { base64: false, dimensions: true, tokenIds: false, maxInputs: 64 },
  rerank: { form: 'cohere', scores: 'Probability', maxDocuments: 128 },
};

/** Fireworks. It accepts a level or a budget, never both, and refuses `reasoning` on replayed messages. */
const fireworks: Engine = {
  ...openai,
  capabilities: {
    ...openai.capabilities,
    reasoning: { off: true, efforts: ['low', 'medium', 'high'], budget: true },
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  writeReasoning: (setting) =>
    setting.enabled && setting.budgetTokens !== undefined
      ? // Fireworks refuses a budget under 1,024.
        { thinking: { type: 'enabled', budget_tokens: Math.max(1024, setting.budgetTokens) } }
      : byEffort(setting),
  embeddings: { base64: false, dimensions: true, tokenIds: false },
  rerank: { form: 'cohere', scores: 'Probability', echoes: 'unless-told' },
};

/** Together. Its models accept different reasoning controls, so a route can override this one. */
const together: Engine = {
  ...openai,
  capField: 'max_tokens',
  strictTools: false,
  writeReasoning: (setting) => ({
    reasoning: { enabled: setting.enabled },
    reasoning_effort: setting.enabled ? setting.effort : undefined,
  }),
  embeddings: { base64: false, dimensions: false, tokenIds: false },
  rerank: { form: 'cohere', scores: 'Probability' },
};

export const providers: Readonly<Record<ProviderName, Engine>> = {
  deepseek,
  dashscope,
  moonshot,
  zai,
  fireworks,
  together,
};
