import type { Prompt, PromptCount, PromptCountOptions } from '../../core/prompt.ts';
import type { LoadedTokenizer } from './loaded-tokenizer.ts';
import type { TextCounts } from './remembered-counts.ts';
import { type Counting, countUntil } from './text-counter.ts';

function imagesOf({ messages }: Prompt): number {
  return messages.reduce(
    (sum, { content }) =>
      typeof content === 'object' ? sum + content.filter(({ type }) => type === 'image').length : sum,
    0,
  );
}

/**
 * Counts a prompt: renders it with the model's template, answers from its size alone if that is enough, and only then
 * counts its words. Never throws.
 */
export function* countInSteps(
  tokenizer: LoadedTokenizer,
  prompt: Prompt,
  options: PromptCountOptions,
  remembered?: TextCounts,
): Counting<PromptCount> {
  const { want, limit, tokensPerImage } = options;
  const images = imagesOf(prompt);
  if (images > 0 && tokensPerImage === undefined) return { kind: 'unknown', reason: 'tokenizer' };
  const beside = images * (tokensPerImage ?? 0);
  let text: string;
  try {
    text = tokenizer.render(prompt);
  } catch {
    return { kind: 'unknown', reason: 'template' };
  }
  const { tokensPerByte } = tokenizer.counter.sizes;
  // One token more, for a blank that the tokenizer puts before the whole text.
  const atMost =
    tokensPerByte === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(text) * tokensPerByte + 1 + beside;
  if (want === 'fit' && atMost <= limit) return { kind: 'within', atMost: Math.ceil(atMost) };

  const count = yield* tokenizer.counter.count(text, limit - beside, remembered);
  switch (count.kind) {
    case 'counted':
      return { kind: 'counted', tokens: count.tokens + beside };
    case 'over':
      return { kind: 'over', atLeast: count.atLeast + beside };
    case 'unknown':
      return { kind: 'unknown', reason: 'time' };
  }
}

interface CountAtOnce {
  readonly milliseconds: number;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Counts of earlier prompts. Absent: every text is counted. */
  readonly remembered?: TextCounts | undefined;
}

/** Counts a prompt at once, for a thread that may be blocked that long. Returns `unknown` once the time is used up. */
export function countPrompt(
  tokenizer: LoadedTokenizer,
  prompt: Prompt,
  { milliseconds, elapsed, remembered, ...options }: PromptCountOptions & CountAtOnce,
): PromptCount {
  const end = elapsed() + milliseconds;
  const counting = countInSteps(tokenizer, prompt, options, remembered);
  return countUntil(counting, () => elapsed() >= end) ?? { kind: 'unknown', reason: 'time' };
}
