import type { Model } from '../../core/catalog.ts';
import { createOutputEstimate, type OutputEstimate } from '../core/count-tokens.ts';
import type { AnswerEvent, ReadStep, ResponseReader, UsageEvent } from '../../core/event.ts';
import type { Usage } from '../../core/money.ts';

/**
 * Tokens by which an engine may exceed its cap: some count the end of the turn, or notice the cap a few tokens late.
 */
const overCap = (cap: number): number => Math.ceil(cap / 10);

/**
 * Tokens of a choice, and of a call, that need not be in any text: the markup around reasoning and calls, the words
 * that end a turn, a stop sequence.
 */
const unseenTokens = 64;

/** What is known of one answer, and of the prompt that was sent for it. */
export interface UsageBounds {
  readonly model: Pick<Model, 'contextLength' | 'reasoning'>;
  /** Output cap of a choice, tokens. */
  readonly cap: number | undefined;
  /** Choices that the engine was asked for. */
  readonly choices: number;
  /** Bounds of the tokens of the prompt that was sent. Called for each report, because a tokenizer may still be loading. */
  readonly promptBounds: () => { readonly min: number; readonly max: number };
  /** Maximum number of bytes that one token stands for. Undefined: the tokenizer is not known. */
  readonly maxTokenBytes: () => number | undefined;
  /** The answer continues a text, which its engine may send again and not count. */
  readonly mayRepeat: boolean;
  /** Replaces an impossible count of the prompt. */
  readonly promptEstimate: number;
  /** Called once, at the first impossible count. */
  readonly implausible: () => void;
}

/** `low`: too few tokens for the text so far, which an engine may still correct. */
type Verdict = 'plausible' | 'low' | 'impossible';

const isCount = (value: number | undefined): value is number =>
  value !== undefined && Number.isSafeInteger(value) && value >= 0;

interface CheckState {
  readonly bounds: UsageBounds;
  /** Output cap of a choice, tokens. */
  readonly capped: number;
  /** The most tokens that all choices can have. */
  readonly maxOutput: number;
  readonly output: OutputEstimate;
  /** The reasoning alone. */
  readonly trace: OutputEstimate;
  calls: number;
  finished: number;
  isTold: boolean;
  heldBack: UsageEvent | undefined;
}

/**
 * Checks an engine's counts of one answer. A prompt is within the window, and has no more tokens than the bytes that
 * were sent and the words of the template can become. A completion is within the cap plus a tenth, and has no more
 * tokens than bytes if all of the output was seen. Both have at least the tokens that their text has if it consists of
 * the longest ones. An impossible count is replaced by an estimate and marked. The estimate errs low, because it is
 * billed. A running count that is ahead of the output is held back until all choices have ended: if the answer breaks
 * off, the caller pays for delivered tokens only.
 */
export function checkUsage(reader: ResponseReader, bounds: UsageBounds): ResponseReader {
  const { contextLength } = bounds.model;
  const capped = Math.min(bounds.cap ?? contextLength, contextLength);
  const state: CheckState = {
    bounds,
    capped,
    maxOutput: Math.min(capped + overCap(capped), contextLength) * bounds.choices,
    output: createOutputEstimate(),
    trace: createOutputEstimate(),
    calls: 0,
    finished: 0,
    isTold: false,
    heldBack: undefined,
  };
  return {
    push: (piece) => checked(state, reader.push(piece)),
    end: () => checked(state, reader.end()),
    model: reader.model,
  };
}

function note(state: CheckState, event: AnswerEvent): void {
  state.output.take(event);
  if (event.type === 'reasoning-delta') state.trace.take(event);
  else if (event.type === 'finish') state.finished += 1;
  else if (event.type === 'tool-start') state.calls += 1;
}

/** Tokens that are in no text of the answer. Undefined if their number is not known. */
function hiddenTokens({ bounds, trace, finished }: CheckState, { reasoningTokens }: Usage): number | undefined {
  // While the answer runs, an engine may have counted tokens whose text it has not sent.
  if (finished < bounds.choices) return undefined;
  if (isCount(reasoningTokens)) return reasoningTokens;
  return trace.hasBytes(1) || bounds.model.reasoning.mode === 'None' ? 0 : undefined;
}

function judgeOutput(state: CheckState, usage: Usage): Verdict {
  const { bounds, output } = state;
  const { completionTokens } = usage;
  if (!isCount(completionTokens) || completionTokens > state.maxOutput) return 'impossible';
  if (!bounds.mayRepeat && output.exceeds(completionTokens, bounds.maxTokenBytes())) return 'low';
  const hidden = hiddenTokens(state, usage);
  const isSeen =
    hidden === undefined || output.hasBytes(completionTokens - hidden - unseenTokens * (bounds.choices + state.calls));
  return isSeen ? 'plausible' : 'impossible';
}

/** Some engines count the prompt for each choice. */
function judgePrompt({ bounds }: CheckState, { promptTokens }: Usage): Verdict {
  const { min, max } = bounds.promptBounds();
  if (!isCount(promptTokens) || promptTokens > Math.min(bounds.model.contextLength, max * bounds.choices))
    return 'impossible';
  return promptTokens < min ? 'low' : 'plausible';
}

/** Without a true count, the tokenizer finds the reasoning in the trace. */
function withTrueSplit({ bounds, trace }: CheckState, { reasoningTokens, ...rest }: Usage): Usage {
  const isKnown = reasoningTokens !== undefined && !trace.exceeds(reasoningTokens, bounds.maxTokenBytes());
  return isKnown ? { ...rest, reasoningTokens } : rest;
}

/** Whether a running count has more tokens than the output so far and the reported hidden reasoning can stand for. */
function isAhead(state: CheckState, { completionTokens, reasoningTokens }: Usage): boolean {
  const { bounds, output, trace, finished, calls, maxOutput } = state;
  if (finished >= bounds.choices || !isCount(completionTokens) || completionTokens > maxOutput) return false;
  const isReasoningHidden = !trace.hasBytes(1) && bounds.model.reasoning.mode !== 'None';
  const hidden = isReasoningHidden && isCount(reasoningTokens) ? reasoningTokens : 0;
  return !output.hasBytes(completionTokens - hidden - unseenTokens * (bounds.choices + calls));
}

function check(state: CheckState, event: UsageEvent): UsageEvent {
  const { bounds, output, capped } = state;
  const usage = withTrueSplit(state, event.usage);
  const verdicts = { prompt: judgePrompt(state, usage), completion: judgeOutput(state, usage) };
  const prompt = verdicts.prompt !== 'plausible';
  const completion = verdicts.completion !== 'plausible';
  if (!prompt && !completion) return { ...event, usage };
  // While the answer runs, an engine may report counts that are not complete.
  const isFinal = state.finished >= bounds.choices || Object.values(verdicts).includes('impossible');
  if (isFinal && !state.isTold) bounds.implausible();
  state.isTold ||= isFinal;
  const promptTokens = prompt ? bounds.promptEstimate : usage.promptTokens;
  const { cachedTokens, reasoningTokens } = usage;
  return {
    type: 'usage',
    countedBy: 'estimate',
    estimated: { prompt, completion },
    usage: {
      promptTokens,
      completionTokens: completion ? Math.min(output.textTokens(), capped * bounds.choices) : usage.completionTokens,
      ...(isCount(cachedTokens) ? { cachedTokens: Math.min(cachedTokens, promptTokens) } : {}),
      // If the count of output tokens cannot be true, the reasoning tokens among them are worthless.
      ...(!completion && reasoningTokens !== undefined ? { reasoningTokens } : {}),
    },
  };
}

/** Returns the reports to pass on in place of this one. */
function report(state: CheckState, event: UsageEvent): readonly UsageEvent[] {
  state.heldBack = isAhead(state, event.usage) ? event : undefined;
  return state.heldBack === undefined ? [check(state, event)] : [];
}

function release(state: CheckState): readonly UsageEvent[] {
  if (state.heldBack === undefined || state.finished < state.bounds.choices) return [];
  const released = check(state, state.heldBack);
  state.heldBack = undefined;
  return [released];
}

function checked(state: CheckState, step: ReadStep): ReadStep {
  for (const event of step.events) note(state, event);
  const isReported = step.events.some(({ type }) => type === 'usage');
  const events = isReported
    ? step.events.flatMap((event): readonly AnswerEvent[] => (event.type === 'usage' ? report(state, event) : [event]))
    : step.events;
  const released = release(state);
  return isReported || released.length > 0 ? { ...step, events: [...events, ...released] } : step;
}
