import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** What anything that a caller, an engine or a manifest says may hold an event loop up for at most, milliseconds. */
export const longestHoldMs = 50;

/** The histogram's own interval, which it counts in. */
const resolutionMs = 1;
/** Most times that something is tried. */
export const mostTries = 4;

/**
 * The longest that this thread's event loop was held up while `run` was under way, milliseconds. What holds the loop up does
 * so every time, and what else the machine is busy with does not: the shortest of a few tries tells, and the first one
 * within the bound is enough.
 */
export async function longestHold(run: () => unknown): Promise<number> {
  let shortest = Infinity;
  for (let left = mostTries; left > 0 && shortest > longestHoldMs; left -= 1) {
    const delay = monitorEventLoopDelay({ resolution: resolutionMs });
    delay.enable();
    // The histogram counts from its first tick, and would begin anew after a reset.
    await sleep(3 * resolutionMs);
    await run();
    await sleep(3 * resolutionMs);
    await nextTurn();
    delay.disable();
    shortest = Math.min(shortest, delay.max / 1e6 - resolutionMs);
  }
  return shortest;
}
