import type { Model } from './catalog.ts';
import { Failure } from './failure.ts';

/**
 * The refusal of a prompt that does not fit the model's window together with the output cap (docs/reference/api.md §4.1.3).
 * Agents shorten their conversation when they find one of a few known phrases in the message, so it holds those phrases
 * (docs/clients.md).
 */
export function contextOverflow({ contextLength }: Pick<Model, 'contextLength'>): Failure {
  return new Failure(
    'context_length_exceeded',
    `messages: prompt is too long: with the output cap it exceeds the context window, for this model's maximum context length is ` +
      `${contextLength} tokens: reduce the length of the messages or the cap.`,
  );
}
