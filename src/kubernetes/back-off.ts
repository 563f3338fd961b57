import { type Clock, waitFor } from '../core/clock.ts';

export interface BackOff {
  /** Waits longer with every call, with jitter, so that replicas don't come back together. Resolves early when stopped. */
  readonly wait: () => Promise<void>;
  /** It went well again. */
  readonly reset: () => void;
}

const leastMs = 250;
const mostMs = 5_000;

export function createBackOff(options: {
  readonly clock: Pick<Clock, 'after'>;
  readonly random: () => number;
  readonly signal: AbortSignal;
}): BackOff {
  const { clock, random, signal } = options;
  let failures = 0;
  return {
    wait: () => {
      const delayMs = Math.min(mostMs, leastMs * 2 ** failures) * (0.5 + random() / 2);
      failures += 1;
      return waitFor(delayMs, { clock, signal });
    },
    reset: () => {
      failures = 0;
    },
  };
}
