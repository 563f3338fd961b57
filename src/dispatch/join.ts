import type { AnswerEvent } from '../core/event.ts';

/**
 * Joins the answer of a new attempt to what has been delivered of a choice: a synchronous machine that hands on what is new.
 * The events name the choice as the engine does.
 */
export interface Join {
  /** What is to be delivered; undefined when the new answer does not go on where the other broke off. */
  readonly push: (events: readonly AnswerEvent[]) => readonly AnswerEvent[] | undefined;
  /** Whether the new attempt's own count of output covers what had been delivered: it said all of it again. */
  readonly saysAgain: () => boolean;
}

/** For a choice of which nothing had been delivered. */
export const joinNothing: Join = { push: (events) => events, saysAgain: () => false };

/** Makes a join out of a step for one event: it adds what is to be delivered, and is false on a contradiction. */
export function joinEach(step: (event: AnswerEvent, out: AnswerEvent[]) => boolean, saysAgain: () => boolean): Join {
  return {
    push: (events) => {
      const out: AnswerEvent[] = [];
      for (const event of events) if (!step(event, out)) return undefined;
      return out;
    },
    saysAgain,
  };
}
