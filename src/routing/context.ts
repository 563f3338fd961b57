import type { Model } from '../core/catalog.ts';
import { mostTokens, type PreparedRequest, type PromptCounting, type Tokenizers } from '../core/prompt.ts';
import { Failure } from '../core/failure.ts';

export interface ContextOptions {
  readonly model: Model;
  readonly tokenizers: Tokenizers;
  /** As on the route that is tried first. */
  readonly counting: PromptCounting | undefined;
}

/**
 * Refuses a prompt that does not fit the model's window together with the output cap (docs/reference/api.md §4.1.3).
 * Most requests are let through by their size alone; the others are counted exactly. A model without a tokenizer, or
 * whose tokenizer cannot tell, leaves it to the engine.
 */
export async function checkContext(prepared: PreparedRequest, options: ContextOptions): Promise<void> {
  const { model, tokenizers, counting } = options;
  // Without a cap the rest of the window is the output's, and it needs room for one token.
  const limit = model.contextLength - (prepared.request.maxOutputTokens ?? 1);
  if (limit < 1) throw contextOverflow(model);
  if (counting === undefined) return;
  const bounds = tokenizers.boundsOf(counting.tokenizerPath);
  const most = bounds === undefined ? undefined : mostTokens(prepared.shape, bounds, counting.tokensPerImage);
  if (most !== undefined && most <= limit) return;
  const count = await prepared.countPrompt({ ...counting, want: 'fit', limit });
  if (count.kind === 'over') throw contextOverflow(model);
}

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
