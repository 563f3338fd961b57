import { bothTransports, type Engine, objectFormat, usualParameters, usualResponseFormat } from './engine.ts';

/** Alibaba's DashScope in its compatible mode. It continues listed models only, and never while they think. */
export const dashscope: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: ['auto', 'none', 'named'],
    responseFormats: objectFormat,
    parameters: [
      ...usualParameters,
      ...(['seed', 'n', 'logprobs', 'top_logprobs', 'presence_penalty', 'parallel_tool_calls'] as const),
      ...(['top_k', 'repetition_penalty'] as const),
    ],
    conflicts: [
      ['response_format', 'reasoning'],
      ['n', 'tools'],
      ['tool_choice', 'reasoning'],
    ],
    reasoning: { off: true, efforts: [], budget: true },
    systemMessages: 'Anywhere',
    continuation: 'none',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'include',
  strictTools: false,
  writeReasoning: (setting) => ({
    enable_thinking: setting.enabled,
    ...(setting.enabled && setting.budgetTokens !== undefined ? { thinking_budget: setting.budgetTokens } : {}),
  }),
  writeResponseFormat: usualResponseFormat,
};
