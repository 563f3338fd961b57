import { type AssumedSpeed, createSpeed, errorOf, type Speed } from './speed.ts';

/** How long an endpoint takes until a first token, and whether prompts wait there for those before them. */
export interface Prefill extends Omit<Speed, 'measured'> {
  /** False: the endpoint works on all prompts at once, as far as is seen. Then the amount of the speed is the prompt's own tokens. */
  readonly isQueue: () => boolean;
  /** True: it took much less than was known. */
  readonly measured: (sample: FirstToken) => boolean;
}

/** Tokens that are to be computed when an attempt begins. */
export interface PromptTokens {
  readonly own: number;
  /** Of prompts without a first token. */
  readonly ahead: number;
}

export interface FirstToken extends PromptTokens {
  readonly ms: number;
  /** False: the time was derived from an answer that did not stream. It does not show what waited for what. */
  readonly isSeen: boolean;
}

/** How much speaks against a queue. */
export interface Evidence {
  readonly add: (more: number) => void;
  readonly value: () => number;
}

/** As long as the speeds are only assumed, errors say little. So a queue is believed in until so much speaks against it. */
const first = -2;
/**
 * An endpoint that becomes a queue is found within some requests. That one works on prompts at once is found more slowly: a queue that is
 * not expected grows.
 */
const [minEvidence, maxEvidence] = [-8, 4];

export function createEvidence(): Evidence {
  let value = first;
  return {
    value: () => value,
    add: (more) => {
      value = Math.min(maxEvidence, Math.max(minEvidence, value + more));
    },
  };
}

/**
 * Two speeds learn from each first token: one as if the prompt had waited for all work ahead, and one as if it had waited for nothing.
 * The difference of their errors is evidence. That of `pool`, of all endpoints, counts as much as the endpoint's own: endpoints of a
 * pool are mostly alike, and one of them alone sees too little.
 */
export function createPrefill(assumed: AssumedSpeed, pool: Evidence): Prefill {
  const queue = createSpeed(assumed);
  const parallel = createSpeed(assumed);
  const own = createEvidence();
  const isQueue = (): boolean => own.value() + pool.value() <= 0;
  const believed = (): Speed => (isQueue() ? queue : parallel);
  return {
    isQueue,
    msFor: (amount) => believed().msFor(amount),
    eachMs: () => believed().eachMs(),
    spread: () => believed().spread(),
    measured: ({ own: tokens, ahead, ms, isSeen }) => {
      if (isSeen && ahead > 0) {
        const more = errorOf(ms, queue.msFor(tokens + ahead)) - errorOf(ms, parallel.msFor(tokens));
        own.add(more);
        pool.add(more);
      }
      const [inQueue, atOnce] = [queue.measured(tokens + ahead, ms), parallel.measured(tokens, ms)];
      return isQueue() ? inQueue : atOnce;
    },
  };
}
