import type { Model } from '../../core/catalog.ts';
import type { PromptShape } from '../../core/prompt.ts';

/**
 * Estimates a prompt that could not be counted: its text low, its images by the model's own rule or not at all, and
 * never more than the model can read.
 */
export function estimatePrompt(
  { textTokens, images }: Pick<PromptShape, 'textTokens' | 'images'>,
  { contextLength, tokenizer }: Pick<Model, 'contextLength' | 'tokenizer'>,
): number {
  return Math.min(textTokens + images * (tokenizer?.tokensPerImage ?? 0), contextLength);
}
