import type { Prompt, PromptCount, PromptCountOptions } from '../../core/prompt.ts';
import { fittingLength } from './fitting-length.ts';
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
  if (prompt.separate !== undefined) return yield* countTexts(tokenizer, prompt, options, remembered);
  const { want, limit, tokensPerImage } = options;
  const { render } = tokenizer;
  if (typeof render !== 'function') return { kind: 'unknown', reason: 'tokenizer' };
  const images = imagesOf(prompt);
  if (images > 0 && tokensPerImage === undefined) return { kind: 'unknown', reason: 'tokenizer' };
  const beside = images * (tokensPerImage ?? 0);
  let text: string;
  try {
    text = render(prompt);
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

/**
 * Counts messages that are prompts of their own, with the tokens that engines add around each. The limit holds for each of them, as it
 * is cut.
 */
function* countTexts(
  { counter, special }: LoadedTokenizer,
  { messages, separate, maxEach }: Prompt,
  { want, limit }: PromptCountOptions,
  remembered?: TextCounts,
): Counting<PromptCount> {
  const { tokensPerByte = Number.POSITIVE_INFINITY } = counter.sizes;
  /** Tokens that come to those of each text. */
  let beside = separate === 'pairs' ? special.pair : special.single;
  let sum = 0;
  const lengths: number[] = [];
  for (const [at, { content }] of messages.entries()) {
    const whole = typeof content === 'string' ? content : '';
    const isQuery = separate === 'pairs' && at === 0;
    const length = isQuery || maxEach === undefined ? whole.length : yield* fittingLength(counter, whole, maxEach);
    if (length === undefined) return { kind: 'unknown', reason: 'time' };
    if (!isQuery) lengths.push(length);
    const text = whole.slice(0, length);
    const room = limit - beside;
    const isShort = !isQuery && Buffer.byteLength(text) * tokensPerByte + 1 <= room;
    if (want === 'fit' && isShort) continue;
    const count = yield* counter.count(text, room, remembered);
    if (count.kind === 'over') return { kind: 'over', atLeast: count.atLeast + beside, at };
    if (count.kind === 'unknown') return { kind: 'unknown', reason: 'time' };
    if (isQuery) beside += count.tokens;
    else sum += count.tokens + beside;
    yield;
  }
  const cut = maxEach === undefined ? undefined : { lengths };
  return want === 'fit' ? { kind: 'within', atMost: limit, ...cut } : { kind: 'counted', tokens: sum, ...cut };
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
