import { setTimeout as sleep } from 'node:timers/promises';

export interface Yardstick {
  /** Ends it, and gives how long each of its questions took, in milliseconds. */
  readonly stop: () => Promise<readonly number[]>;
}

const pauseMs = 50;

/**
 * Asks a small question again and again, of a process of its own that is not ours to measure: how long that takes just now is
 * the machine's doing, whoever else keeps it busy. A bound in time that allows for it holds on a busy machine, too.
 */
export function startYardstick(url: string): Yardstick {
  const times: number[] = [];
  const stopped = new AbortController();
  const asking = (async () => {
    while (!stopped.signal.aborted) {
      const begun = performance.now();
      await (await fetch(url)).text();
      times.push(performance.now() - begun);
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await asking;
      return times;
    },
  };
}
