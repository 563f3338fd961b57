import type { Continuation } from '../../../core/capability.ts';
import type { ContinuationAbility } from '../protocol.ts';
import type { DeliveredChoice } from './delivered.ts';
import { continueReasoning, continueText, createJsonMerge, createTextMerge, type TextMerge } from './merge-text.ts';
import { type Merge, mergeNothing, repeatCalls, restartReasoning } from './merge.ts';

export interface BrokenChoice {
  readonly delivered: DeliveredChoice;
  /** Tokens that were delivered of the choice; exact where the model's tokenizer or the engine counted them. */
  readonly tokens: number;
}

/**
 * Returns which part of a choice that broke off is missing. `end`: the cap allows no more output, so only the end is missing. Tool
 * calls are always asked for anew, whatever their size.
 */
export function missingOf({ delivered, tokens }: BrokenChoice, cap: number | undefined): 'nothing' | 'end' | 'output' {
  if (delivered.finished) return 'nothing';
  return cap !== undefined && tokens >= cap && delivered.calls.length === 0 ? 'end' : 'output';
}

/** How a route continues a choice that broke off. */
export interface ChoiceContinuation {
  /** The continuation that is added to the request. */
  readonly ask: Continuation;
  /** Merges the route's answer with what was delivered. */
  readonly merge: Merge;
  /** The engine continues in the middle of the text. */
  readonly answerBegun: boolean;
  /** Tokens of the partial turn. The engine counts them as prompt. */
  readonly prefixTokens: number;
}

export interface ContinuationLimits {
  /** The caller's output cap, tokens. It is greater than the number of delivered tokens. */
  readonly cap: number | undefined;
  /** The text has to be JSON. */
  readonly isJson: boolean;
}

/**
 * Chooses how a route continues a choice that broke off (docs/concepts/architecture.md §2.3). Calls and refusals are made again
 * and must begin the same. Text and reasoning are continued if the engine is able to. Undefined: this route cannot continue it.
 */
export function continueChoice(
  { delivered, tokens }: BrokenChoice,
  ability: ContinuationAbility,
  { cap, isJson }: ContinuationLimits,
): ChoiceContinuation | undefined {
  const { text, reasoning, refusal, calls } = delivered;
  const anew = (merge: Merge): ChoiceContinuation => ({ ask: {}, merge, answerBegun: false, prefixTokens: 0 });
  if (calls.length > 0 || refusal !== '') return anew(repeatCalls(delivered));
  if (text === '' && reasoning === '') return anew(mergeNothing);

  const { mark } = ability;
  if (mark === 'none' || (text === '' && !ability.reasoning)) {
    return text === '' ? anew(restartReasoning(reasoning)) : undefined;
  }
  const mergeOf = (partial: string): TextMerge =>
    isJson && text !== '' ? createJsonMerge(partial) : createTextMerge(partial, { echoes: mark === 'echo' });
  return {
    ask: {
      partial: { mark, text, reasoning: reasoning === '' ? undefined : reasoning },
      maxOutputTokens: cap === undefined ? undefined : cap - tokens,
    },
    merge: text === '' ? continueReasoning(mergeOf(reasoning), reasoning) : continueText(mergeOf(text), delivered),
    answerBegun: text !== '',
    prefixTokens: tokens,
  };
}
