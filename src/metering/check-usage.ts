import type { Model } from '../core/catalog.ts';
import { createOutputEstimate } from '../core/count-tokens.ts';
import type { AnswerEvent, ReadStep, ResponseReader } from '../core/event.ts';
import type { Usage } from '../core/money.ts';

type UsageEvent = AnswerEvent & { readonly type: 'usage' };

/**
 * Tokens by which an engine may exceed its cap: some count the end of the turn, or notice the cap a few tokens late.
 */
const overCap = (cap: number): number => Math.ceil(cap / 10);

/**
 * Tokens of a choice, and of a call, that need not be in any text: the markup around reasoning and calls, the words
 * that end a turn, a stop sequence.
 */
const unseenTokens = 64;

interface UsageBounds {
  readonly model: Pick<Model, 'contextLength' | 'reasoning'>;
  /** Output cap of a choice, tokens. */
  readonly cap: number | undefined;
  /** Choices that the engine was asked for. */
  readonly choices: number;
  /** Maximum number of tokens of the prompt that was sent. Called for each report, because a tokenizer may still be loading. */
  readonly maxPrompt: () => number;
  /** Replaces an impossible count of the prompt. */
  readonly promptEstimate: number;
  /** Called once, at the first impossible count. */
  readonly implausible: () => void;
}

const isCount = (value: number | undefined): value is number =>
  value !== undefined && Number.isSafeInteger(value) && value >= 0;

/**
 * Checks an engine's counts of one answer. A prompt is within the window, and has no more tokens than the bytes that
 * were sent and the words of the template can become. A completion is within the cap plus a tenth, and has no more
 * tokens than bytes if all of the output was seen. An impossible count is replaced by an estimate and marked. The
 * estimate errs low, because it is billed. A running count that is ahead of the output is held back until all choices
 * have ended: if the answer breaks off, the caller pays for delivered tokens only.
 */
export function checkUsage(reader: ResponseReader, bounds: UsageBounds): ResponseReader {
  const { model, cap, choices, promptEstimate, maxPrompt } = bounds;
  const { contextLength } = model;
  const capped = Math.min(cap ?? contextLength, contextLength);
  const mostOutput = Math.min(capped + overCap(capped), contextLength) * choices;
  const output = createOutputEstimate();
  let calls = 0;
  let finished = 0;
  let sawReasoning = false;
  let isTold = false;
  let heldBack: UsageEvent | undefined;

  function note(event: AnswerEvent): void {
    output.take(event);
    if (event.type === 'reasoning-delta') sawReasoning = true;
    else if (event.type === 'finish') finished += 1;
    else if (event.type === 'tool-start') calls += 1;
  }

  /** Tokens that are in no text of the answer. Undefined if their number is not known. */
  function hiddenTokens({ reasoningTokens }: Usage): number | undefined {
    // While the answer runs, an engine may have counted tokens whose text it has not sent.
    if (finished < choices) return undefined;
    if (isCount(reasoningTokens)) return reasoningTokens;
    return sawReasoning || model.reasoning.mode === 'None' ? 0 : undefined;
  }

  function isPlausibleOutput(usage: Usage): boolean {
    const { completionTokens } = usage;
    if (!isCount(completionTokens) || completionTokens > mostOutput) return false;
    const hidden = hiddenTokens(usage);
    return hidden === undefined || output.hasBytes(completionTokens - hidden - unseenTokens * (choices + calls));
  }

  /** Some engines count the prompt for each choice. */
  function isPlausiblePrompt({ promptTokens }: Usage): boolean {
    return isCount(promptTokens) && promptTokens <= contextLength && promptTokens <= maxPrompt() * choices;
  }

  /** Whether a running count has more tokens than the output so far and the reported hidden reasoning can stand for. */
  function isAhead({ completionTokens, reasoningTokens }: Usage): boolean {
    if (finished >= choices || !isCount(completionTokens) || completionTokens > mostOutput) return false;
    const isReasoningHidden = !sawReasoning && model.reasoning.mode !== 'None';
    const hidden = isReasoningHidden && isCount(reasoningTokens) ? reasoningTokens : 0;
    return !output.hasBytes(completionTokens - hidden - unseenTokens * (choices + calls));
  }

  function check(event: UsageEvent): UsageEvent {
    const { usage } = event;
    const isPromptTrue = isPlausiblePrompt(usage);
    const isOutputTrue = isPlausibleOutput(usage);
    if (isPromptTrue && isOutputTrue) return event;
    if (!isTold) bounds.implausible();
    isTold = true;
    const promptTokens = isPromptTrue ? usage.promptTokens : promptEstimate;
    const { cachedTokens, reasoningTokens } = usage;
    return {
      type: 'usage',
      countedBy: 'estimate',
      usage: {
        promptTokens,
        completionTokens: isOutputTrue ? usage.completionTokens : Math.min(output.tokens(), capped * choices),
        ...(isCount(cachedTokens) ? { cachedTokens: Math.min(cachedTokens, promptTokens) } : {}),
        // If the count of output tokens cannot be true, the reasoning tokens among them are worthless.
        ...(isOutputTrue && reasoningTokens !== undefined ? { reasoningTokens } : {}),
      },
    };
  }

  /** Returns the reports to pass on in place of this one. */
  function report(event: UsageEvent): readonly UsageEvent[] {
    heldBack = isAhead(event.usage) ? event : undefined;
    return heldBack === undefined ? [check(event)] : [];
  }

  function release(): readonly UsageEvent[] {
    if (heldBack === undefined || finished < choices) return [];
    const released = check(heldBack);
    heldBack = undefined;
    return [released];
  }

  function checked(step: ReadStep): ReadStep {
    for (const event of step.events) note(event);
    const isReported = step.events.some(({ type }) => type === 'usage');
    const events = isReported
      ? step.events.flatMap((event): readonly AnswerEvent[] => (event.type === 'usage' ? report(event) : [event]))
      : step.events;
    const released = release();
    return isReported || released.length > 0 ? { ...step, events: [...events, ...released] } : step;
  }

  return {
    push: (piece) => checked(reader.push(piece)),
    end: () => checked(reader.end()),
    model: reader.model,
  };
}
