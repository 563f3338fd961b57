import type { PromptShape } from '../../src/core/prompt.ts';

/** The shape of a prompt of one short message, with nothing in it but what a test says. */
export function promptShape(fields: Partial<PromptShape> = {}): PromptShape {
  return {
    ...{ bodyBytes: 0, isAscii: true, textTokens: 1, messageTokens: 1, messages: 1, tools: 0, toolCalls: 0 },
    ...{ images: 0, callerImages: 0, imageBytes: 0, hasLaterSystem: false, conversation: undefined, digest: 0 },
    ...fields,
  };
}
