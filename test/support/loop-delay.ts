import { monitorEventLoopDelay } from 'node:perf_hooks';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
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

const idler = `
const { parentPort } = require('node:worker_threads');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const begin = () => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  return delay;
};
let delay = begin();
parentPort.on('message', () => {
  parentPort.postMessage(delay.max / 1e6);
  delay.disable();
  delay = begin();
});`;

/** What the machine itself takes just now. */
export interface IdleThread {
  /** The longest that a thread with nothing to do had to wait for a processor since this was last asked, milliseconds. */
  readonly longestWait: () => Promise<number>;
  readonly close: () => Promise<unknown>;
}

/** Starts a thread that does nothing: how late it is nevertheless is the doing of whoever else keeps the machine busy. */
export function startIdleThread(): IdleThread {
  const worker = new Worker(idler, { eval: true });
  return {
    longestWait: async () => {
      const answered = once(worker, 'message');
      worker.postMessage('ask');
      const [longestMs] = (await answered) as [number];
      return longestMs;
    },
    close: () => worker.terminate(),
  };
}
