import type { Behaviour } from './behaviour.ts';
import type { JsonObject } from './json-value.ts';

/** The fields that carry a piece of reasoning, in a delta or in a message. Inline reasoning is text like any other. */
export function reasoningFields(text: string, field: Behaviour['reasoningField']): JsonObject {
  switch (field) {
    case undefined:
    case 'reasoning_content':
      return { reasoning_content: text };
    case 'reasoning':
      return { reasoning: text };
    case 'both':
      return { reasoning_content: text, reasoning: text };
    case 'both-one-null':
      return { content: null, reasoning_content: text };
    case 'think':
    case 'think-implicit':
    case 'kimi':
    case 'bracket':
    case 'gemma':
    case 'harmony':
      return { content: text };
  }
}

/** The fields that carry a piece of the text. */
export function contentFields(text: string, field: Behaviour['reasoningField']): JsonObject {
  return field === 'both-one-null' ? { content: text, reasoning_content: null } : { content: text };
}

/** Two deltas as one: texts are joined, and what only one of them knows is kept. */
export function mergeFields(left: JsonObject, right: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...left };
  for (const [name, value] of Object.entries(right)) {
    const before = merged[name];
    merged[name] = typeof before === 'string' && typeof value === 'string' ? before + value : (value ?? before);
  }
  return merged;
}
