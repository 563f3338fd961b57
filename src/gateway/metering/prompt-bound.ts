import { minTokens } from '../core/count-tokens.ts';
import type { Model } from '../../core/catalog.ts';
import type { PromptShape, TokenizerBounds } from '../../core/prompt.ts';

/**
 * Tokens that a chat template may add to a prompt by itself. The default system prompts of public templates have up to
 * 1,200: those of Mistral's coding models are the longest.
 */
const maxTemplateTokens = 2048;
/** Tokens that it may add to explain the use of tools: public templates have up to 1,100. */
const maxToolPromptTokens = 2048;
/** Tokens that it may add around a message, a call and a tool. */
const maxMessageTokens = 64;
const maxToolTokens = 512;
/** Tokens that a template may add around a query and a document: that of Qwen3-Reranker adds 100. */
const maxPairTokens = 256;
/** Tokens that a template may add beyond twice what was measured of it: an engine may have another version of it. */
const maxUnmeasuredTokens = 256;

interface SentPrompt {
  /** Bytes of the body that the engine got. */
  readonly bodyBytes: number;
  readonly shape: Pick<PromptShape, 'messages' | 'tools' | 'toolCalls' | 'images' | 'callerImages' | 'imageBytes'>;
  /** A query that the engine reads with each of so many documents. */
  readonly pairs?: { readonly queryBytes: number; readonly documents: number } | undefined;
}

/**
 * Maximum number of tokens of a prompt that was sent in a body of this size, whatever the engine reports. A token stands
 * for a byte or more, in any alphabet. Templates write tools as JSON with blanks, which at most doubles the text, and
 * add words of their own. Infinite where there is no such bound: for images without `tokensPerImage`, and for tokenizers
 * that expand text without limit.
 */
export function maxPromptTokens(
  { bodyBytes, shape, pairs = { queryBytes: 0, documents: 0 } }: SentPrompt,
  { tokenizer, bounds }: Pick<Model, 'tokenizer'> & { readonly bounds: TokenizerBounds | undefined },
): number {
  const { images, callerImages, imageBytes, tools, toolCalls } = shape;
  if (images > 0 && tokenizer?.tokensPerImage === undefined) return Infinity;
  // An image of a tool may have been replaced by a text.
  const textBytes = images === callerImages ? Math.max(0, bodyBytes - imageBytes) : bodyBytes;
  const tokensPerByte = bounds === undefined ? 1 : (bounds.tokensPerByte ?? Infinity);
  const repeated = pairs.queryBytes * Math.max(0, pairs.documents - 1);
  const text = (textBytes + repeated) * tokensPerByte * (tools + toolCalls > 0 ? 2 : 1);
  // The tokens of an image depend on its size.
  const around = templateTokens(shape, bounds) + pairs.documents * maxPairTokens;
  return text + around + 2 * images * (tokenizer?.tokensPerImage ?? 0);
}

/**
 * Minimum number of tokens of a prompt, whatever the engine reports: no token stands for more bytes of text than the
 * longest one of the vocabulary. Text of tools does not count, because a template may leave them out.
 */
export function minPromptTokens(
  { messageTokens }: Pick<PromptShape, 'messageTokens'>,
  bounds: Pick<TokenizerBounds, 'maxTokenBytes'> | undefined,
): number {
  return Math.max(1, minTokens(messageTokens - 1, bounds?.maxTokenBytes));
}

function templateTokens(
  { messages, tools, toolCalls }: SentPrompt['shape'],
  bounds: TokenizerBounds | undefined,
): number {
  const { template } = bounds ?? {};
  const ofTools = template?.tools;
  const hasTools = tools + toolCalls > 0;
  if (template === undefined || (hasTools && ofTools === undefined)) {
    const own = maxTemplateTokens + (hasTools ? maxToolPromptTokens : 0);
    return own + maxMessageTokens * (messages + toolCalls) + maxToolTokens * tools;
  }
  const { base, perTool, perCall } = ofTools ?? { base: 0, perTool: 0, perCall: 0 };
  const measured = template.base + template.perMessage * messages + base + perTool * tools + perCall * toolCalls;
  return 2 * measured + maxUnmeasuredTokens;
}
