import {
  bothTransports,
  type Engine,
  everyFormat,
  everyToolChoice,
  openModelParameters,
  usualResponseFormat,
} from './engine.ts';

/** Fireworks. It takes a level or a budget, never both, and refuses `reasoning` on replayed messages. */
export const fireworks: Engine = {
  capabilities: {
    tools: bothTransports,
    toolChoice: everyToolChoice,
    responseFormats: everyFormat,
    parameters: openModelParameters,
    conflicts: [],
    reasoning: { off: true, efforts: ['low', 'medium', 'high'], budget: true },
    systemMessages: 'Anywhere',
    continuation: 'none',
  },
  capField: 'max_tokens',
  reasoningField: 'reasoning_content',
  streamUsage: 'include',
  strictTools: true,
  writeReasoning: (setting) => {
    if (!setting.enabled) return { reasoning_effort: 'none' };
    if (setting.budgetTokens !== undefined) {
      // Its least budget.
      return { thinking: { type: 'enabled', budget_tokens: Math.max(1024, setting.budgetTokens) } };
    }
    return setting.effort === undefined ? {} : { reasoning_effort: setting.effort };
  },
  writeResponseFormat: usualResponseFormat,
};
