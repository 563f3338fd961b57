import { createDecayedMean } from '../../core/decayed-mean.ts';
import { createSpeed } from './speed.ts';

/** The knowledge of the answers of all endpoints together. The answers of one endpoint are too few: chance decides too much. */
export type AnswerKnowledge = ReturnType<typeof createAnswerKnowledge>;

const assumedGap = { samples: 2, amount: 8, eachMs: 0.2, minMs: 15, spread: 0.5 };
const assumedLength = { value: 300, weight: 1 };
/** The requests that count for what is usual. */
export const recent = { halfLifeMs: 300_000, maxWeight: 200 };

export function createAnswerKnowledge() {
  const lengths = createDecayedMean(recent);
  const gap = createSpeed(assumedGap);
  return {
    /** `beside`: how many answers were under way on its endpoint meanwhile. */
    measured: (
      now: number,
      { tokens, ms, beside }: { readonly tokens: number; readonly ms: number; readonly beside: number },
    ): void => {
      lengths.add(now, tokens);
      if (tokens > 1) gap.measured(beside, ms / (tokens - 1));
    },
    /** How long the tokens after the first one usually take beside so many other answers, ms. */
    outputMs: (tokens: number, beside: number): number => Math.max(0, tokens - 1) * gap.msFor(beside),
    /**
     * By how much an answer and one other become slower together if they run on one endpoint, ms: the other one makes this
     * answer slower, and this answer makes the other one slower.
     */
    slowerEachMs: (now: number): number => 2 * gap.eachMs() * lengths.mean(now, assumedLength),
  };
}
