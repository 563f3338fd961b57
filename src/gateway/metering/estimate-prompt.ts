import { kindOfModel, type Model } from '../../core/catalog.ts';
import type { PromptShape } from '../../core/prompt.ts';

/** Most tokens of a whole prompt. Models of chat read all of it at once, others each of its texts by itself. */
export function promptWindow(
  { messages }: Pick<PromptShape, 'messages'>,
  model: Pick<Model, 'contextLength' | 'kind'>,
): number {
  return kindOfModel(model) === 'chat' ? model.contextLength : model.contextLength * messages;
}

/**
 * Estimates a prompt that could not be counted: its text low, its images by the model's own rule or not at all, and
 * never more than the model can read.
 */
export function estimatePrompt(
  shape: Pick<PromptShape, 'textTokens' | 'images' | 'messages'>,
  model: Pick<Model, 'contextLength' | 'tokenizer' | 'kind'>,
): number {
  const { textTokens, images } = shape;
  return Math.min(textTokens + images * (model.tokenizer?.tokensPerImage ?? 0), promptWindow(shape, model));
}
