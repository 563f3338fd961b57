import type { AnswerEvent } from '../core/event.ts';

/** What a new attempt has said that had been delivered before, and was not delivered again. Its engine counts it. */
export interface SaidAgain {
  /** Whether that is everything that had been delivered of the choice. */
  readonly all: boolean;
  readonly texts: readonly string[];
  /** Its engine's own deltas in them. */
  readonly deltas: number;
}

export const saidNothingAgain: SaidAgain = { all: false, texts: [], deltas: 0 };

/**
 * Joins the answer of a new attempt to what has been delivered of a choice: a synchronous machine that hands on what is new.
 * The events name the choice as the engine does.
 */
export interface Join {
  /** What is to be delivered; undefined when the new answer does not go on where the other broke off. */
  readonly push: (events: readonly AnswerEvent[]) => readonly AnswerEvent[] | undefined;
  readonly saidAgain: () => SaidAgain;
}

/** For a choice of which nothing had been delivered. */
export const joinNothing: Join = { push: (events) => events, saidAgain: () => saidNothingAgain };

/** Makes a join out of a step for one event: it adds what is to be delivered, and is false on a contradiction. */
export function joinEach(step: (event: AnswerEvent, out: AnswerEvent[]) => boolean, saidAgain: () => SaidAgain): Join {
  return {
    push: (events) => {
      const out: AnswerEvent[] = [];
      for (const event of events) if (!step(event, out)) return undefined;
      return out;
    },
    saidAgain,
  };
}
