import { type Clock, waitFor } from './clock.ts';

/** After work, a pause of so many times its duration. So it takes at most a tenth of the time, however many ask. */
const pauseFactor = 9;
/** Longest pause, so that nobody who asks in it gives up. */
const maxPauseMs = 1_000;

/**
 * Shares work for which anyone may ask, however often: all who ask for the same key while it runs get one result. The next work,
 * of whatever key, begins after a pause; all who ask in the pause wait, and share that work. Nobody gets a result that was ready
 * before they asked.
 */
export function shareWork<Key, Result>(
  work: (key: Key) => Promise<Result>,
  clock: Pick<Clock, 'after' | 'elapsed'>,
): (key: Key) => Promise<Result> {
  const running = new Map<Key, Promise<Result>>();
  let last: Promise<unknown> = Promise.resolve();
  let nextAt = -Infinity;

  async function runAfter(before: Promise<unknown>, key: Key): Promise<Result> {
    await before;
    const waitMs = nextAt - clock.elapsed();
    if (waitMs > 0) await waitFor(waitMs, { clock });
    const beganAt = clock.elapsed();
    try {
      return await work(key);
    } finally {
      const endedAt = clock.elapsed();
      nextAt = endedAt + Math.min((endedAt - beganAt) * pauseFactor, maxPauseMs);
      running.delete(key);
    }
  }

  return (key) => {
    const found = running.get(key);
    if (found !== undefined) return found;
    const begun = runAfter(last, key);
    running.set(key, begun);
    last = begun.catch(() => undefined);
    return begun;
  };
}
