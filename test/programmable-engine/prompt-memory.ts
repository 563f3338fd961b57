import { fingerprint } from './chance.ts';
import type { ChatRequest } from './chat-request.ts';

/** Remembers prompts, as an engine's prefix cache does. */
export interface PromptMemory {
  /** How many tokens of the prompt were seen before; then remembers it. Never all of them: an engine computes the last one anew. */
  readonly recall: (request: ChatRequest, tokens: readonly number[]) => number;
  readonly forget: () => void;
}

/** Knows the most recent prefixes only, message by message, tools included. */
export function createPromptMemory(limit = 20_000): PromptMemory {
  const known = new Set<string>();
  return {
    recall: (request, tokens) => {
      let print = fingerprint([request.cacheSalt, request.toolsText]);
      let seen = 0;
      let cached = 0;
      let unbroken = true;
      request.messages.forEach((message, index) => {
        print = fingerprint([print, message.role, message.text, message.reasoning, message.calls]);
        seen += tokens[index] ?? 0;
        unbroken = unbroken && known.has(print);
        if (unbroken) cached = seen;
        known.delete(print);
        known.add(print);
      });
      for (const oldest of known) {
        if (known.size <= limit) break;
        known.delete(oldest);
      }
      return Math.min(cached, Math.max(0, seen - 1));
    },
    forget: () => known.clear(),
  };
}
