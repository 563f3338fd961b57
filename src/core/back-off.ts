import { type Clock, waitFor } from './clock.ts';

interface BackOff {
  /** Waits longer with every call, with jitter, so that replicas do not all come back at once. Resolves early when aborted. */
  readonly wait: () => Promise<void>;
  /** An attempt succeeded: the next wait is a short one. */
  readonly reset: () => void;
}

const minMs = 250;
const maxMs = 5_000;

export function createBackOff(options: {
  readonly clock: Pick<Clock, 'after'>;
  readonly random: () => number;
  readonly signal: AbortSignal;
}): BackOff {
  const { clock, random, signal } = options;
  let failures = 0;
  return {
    wait: () => {
      const delayMs = Math.min(maxMs, minMs * 2 ** failures) * (0.5 + random() / 2);
      failures += 1;
      return waitFor(delayMs, { clock, signal });
    },
    reset: () => {
      failures = 0;
    },
  };
}
