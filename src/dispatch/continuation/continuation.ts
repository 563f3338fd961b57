import type { Continuation, Resume } from '../../core/capability.ts';
import type { DeliveredChoice } from './delivered.ts';
import { continueText, createJsonSeam, createTextSeam, type Seam } from './merge-text.ts';
import { continueReasoning, type Join, joinNothing, replayCalls, restartReasoning } from './merge.ts';

/** What a route can do with a partial answer. */
export interface ContinuationAbility {
  readonly mark: Continuation;
  /** Whether it goes on with reasoning, too. */
  readonly reasoning: boolean;
}

/** One choice that broke off. */
export interface BrokenChoice {
  readonly delivered: DeliveredChoice;
  /** Its tokens; exact where anybody can count them. */
  readonly tokens: number;
}

/** How a choice is asked for again on one route. */
export interface Resumption {
  readonly resume: Resume;
  readonly join: Join;
  /** Its text had begun: the engine goes on in the middle of it. */
  readonly answerBegun: boolean;
  /** Tokens of the partial turn that the engine will count as prompt. */
  readonly prefixTokens: number;
}

/**
 * How a choice that broke off is asked for again on a route (docs/reference/architecture.md §2.3); undefined when the route cannot
 * go on with it. `cap`: the caller's, tokens, more than have been delivered. `isJson`: the text has to be JSON.
 */
export function resumeOn(
  { delivered, tokens }: BrokenChoice,
  ability: ContinuationAbility,
  { cap, isJson }: { readonly cap: number | undefined; readonly isJson: boolean },
): Resumption | undefined {
  const { text, reasoning, refusal, calls } = delivered;
  const anew = (join: Join): Resumption => ({ resume: {}, join, answerBegun: false, prefixTokens: 0 });
  if (calls.length > 0 || refusal !== '') return anew(replayCalls(delivered));
  if (text === '' && reasoning === '') return anew(joinNothing);

  const { mark } = ability;
  const canContinue = mark !== 'none' && (text !== '' || ability.reasoning);
  if (!canContinue) return text === '' ? anew(restartReasoning(reasoning)) : undefined;
  const echoes = mark === 'echo';
  const seam = (partial: string): Seam =>
    isJson && text !== '' ? createJsonSeam(partial) : createTextSeam(partial, { echoes });
  return {
    resume: {
      partial: { mark, text, ...(reasoning === '' ? {} : { reasoning }) },
      ...(cap === undefined ? {} : { maxOutputTokens: cap - tokens }),
    },
    join: text === '' ? continueReasoning(seam(reasoning)) : continueText(seam(text), delivered),
    answerBegun: text !== '',
    prefixTokens: tokens,
  };
}
