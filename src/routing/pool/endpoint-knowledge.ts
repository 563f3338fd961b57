import { createDecayedMean } from '../health/decayed-mean.ts';
import { createHeldBlocks, type PoolPrompt } from './held-blocks.ts';
import type { Outlook } from './pick.ts';
import { createSpeed } from './speed.ts';

/** The knowledge of one endpoint, from the attempts that this replica has made there. */
export interface EndpointKnowledge {
  /** Predicts what a prompt would cost at the endpoint. */
  readonly outlook: (now: number, prompt: PoolPrompt) => Outlook;
  readonly begin: (now: number, prompt: PoolPrompt) => PoolAttempt;
}

/** An attempt, as the knowledge of its endpoint follows it. */
export interface PoolAttempt {
  /** Expected time for which the endpoint works on the prompt, ms. */
  readonly workMs: number;
  readonly first: (now: number) => void;
  /** The engine has reported how many tokens of the prompt it had in its cache. */
  readonly cached: (tokens: number) => void;
  /** Undefined: the attempt was not completed. */
  readonly ended: (now: number, outputTokens: number | undefined) => void;
}

/** The knowledge of the answers of all endpoints together. The answers of one endpoint are too few: chance decides too much. */
export interface AnswerKnowledge {
  /** `beside`: how many answers were under way on its endpoint meanwhile. */
  readonly measured: (
    now: number,
    answer: { readonly tokens: number; readonly ms: number; readonly beside: number },
  ) => void;
  /** By how much an answer and so many others become slower together if they run on one endpoint, ms. */
  readonly slowerMs: (now: number, others: number) => number;
}

/** The engine of a model of 32 billion weights on two GPUs. It matters only until an endpoint has answered. */
const assumedPrefill = { samples: 2, amount: 4000, eachMs: 0.1, leastMs: 30, spread: 0.5 };
const assumedGap = { samples: 2, amount: 8, eachMs: 0.2, leastMs: 15, spread: 0.5 };
const assumedLength = { value: 300, weight: 1 };
/** The answers that count for the usual length. */
const recent = { halfLifeMs: 300_000, mostWeight: 200 };

export function createAnswerKnowledge(): AnswerKnowledge {
  const lengths = createDecayedMean(recent);
  const gap = createSpeed(assumedGap);
  return {
    measured: (now, { tokens, ms, beside }) => {
      lengths.add(now, tokens);
      if (tokens > 1) gap.measured(beside, ms / (tokens - 1));
    },
    // Each of the others makes this answer slower, and this answer makes each of the others slower.
    slowerMs: (now, others) => 2 * others * gap.eachMs() * lengths.mean(now, assumedLength),
  };
}

/** `answers`: of all endpoints of the pool. */
export function createEndpointKnowledge(answers: AnswerKnowledge): EndpointKnowledge {
  const held = createHeldBlocks();
  const prefill = createSpeed(assumedPrefill);
  /** Prompt tokens that the endpoint was sent and has not computed yet, as far as is known. */
  let aheadTokens = 0;
  let underWay = 0;
  let isUntried = true;

  /** Tokens of a prompt that the endpoint computes. */
  const ownTokensOf = (prompt: PoolPrompt, heldTokens: number): number => Math.max(1, prompt.tokens - heldTokens);

  return {
    outlook: (now, prompt) => {
      const heldTokens = held.tokensOf(prompt);
      const ownTokens = ownTokensOf(prompt, heldTokens);
      const firstMs = prefill.msFor(aheadTokens + ownTokens);
      return {
        ...{ heldTokens, firstMs, isUntried },
        errorMs: firstMs * prefill.spread(),
        workMs: ownTokens * prefill.eachMs(),
        slowerMs: answers.slowerMs(now, underWay),
      };
    },
    begin: (begunAt, prompt) => {
      const expected = held.tokensOf(prompt);
      const ownTokens = ownTokensOf(prompt, expected);
      const work = aheadTokens + ownTokens;
      held.use(prompt);
      aheadTokens += ownTokens;
      underWay += 1;
      isUntried = false;
      let first: { readonly at: number; readonly underWay: number } | undefined;
      let isOver = false;
      return {
        workMs: ownTokens * prefill.eachMs(),
        first: (now) => {
          if (first !== undefined || isOver) return;
          first = { at: now, underWay };
          aheadTokens -= ownTokens;
          prefill.measured(work, now - begunAt);
        },
        cached: (actual) => held.reported({ expected, actual }),
        ended: (now, outputTokens) => {
          if (isOver) return;
          isOver = true;
          held.leave(prompt);
          if (first === undefined) aheadTokens -= ownTokens;
          else if (outputTokens !== undefined) {
            const beside = (first.underWay + underWay) / 2 - 1;
            answers.measured(now, { tokens: outputTokens, ms: now - first.at, beside });
          }
          underWay -= 1;
        },
      };
    },
  };
}
