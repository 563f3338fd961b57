import type { Continuation } from '../../core/capability.ts';
import type { ContinuationAbility } from '../protocol.ts';
import type { DeliveredChoice } from './delivered.ts';
import { continueReasoning, continueText, createJsonMerge, createTextMerge, type TextMerge } from './merge-text.ts';
import { type Merge, mergeNothing, repeatCalls, restartReasoning } from './merge.ts';

/** A choice that broke off. */
export interface BrokenChoice {
  readonly delivered: DeliveredChoice;
  /** Tokens that were delivered of the choice; exact where the model's tokenizer or the engine counted them. */
  readonly tokens: number;
}

/**
 * What a choice that broke off lacks. `end`: all that the cap allows has been delivered. Calls are asked for anew, whatever
 * their size.
 */
export function missingOf({ delivered, tokens }: BrokenChoice, cap: number | undefined): 'nothing' | 'end' | 'output' {
  if (delivered.finished) return 'nothing';
  return cap !== undefined && tokens >= cap && delivered.calls.length === 0 ? 'end' : 'output';
}

/** How one route is asked for a choice that broke off, and how its answer is merged with what was delivered. */
export interface ChoiceContinuation {
  readonly ask: Continuation;
  readonly merge: Merge;
  /** The engine continues in the middle of the text. */
  readonly answerBegun: boolean;
  /** Tokens of the partial turn, which the engine will count as prompt. */
  readonly prefixTokens: number;
}

export interface ContinuationLimits {
  /** The caller's output cap, tokens: more than have been delivered. */
  readonly cap: number | undefined;
  /** The text has to be JSON. */
  readonly isJson: boolean;
}

/**
 * Chooses how a route continues a choice that broke off (docs/reference/architecture.md §2.3). Calls and refusals are asked for
 * anew and must begin alike; text and reasoning are continued where the engine can do that. Undefined when this route cannot.
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
    merge: text === '' ? continueReasoning(mergeOf(reasoning)) : continueText(mergeOf(text), delivered),
    answerBegun: text !== '',
    prefixTokens: tokens,
  };
}
