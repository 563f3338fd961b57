import { type Clock, waitFor } from './clock.ts';

const minMs = 250;
const maxMs = 5_000;

export function createBackOff(options: {
  readonly clock: Pick<Clock, 'after'>;
  readonly random: () => number;
  readonly signal: AbortSignal;
}) {
  const { clock, random, signal } = options;
  let failures = 0;
  return {
    /** Waits longer with every call, with jitter, so that replicas do not all come back at once. Resolves early when aborted. */
    wait: (): Promise<void> => {
      const delayMs = Math.min(maxMs, minMs * 2 ** failures) * (0.5 + random() / 2);
      failures += 1;
      return waitFor(delayMs, { clock, signal });
    },
    /** An attempt succeeded: the next wait is a short one. */
    reset: (): void => {
      failures = 0;
    },
  };
}
