import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What anything that a caller, an engine or a manifest says may hold an event loop up for at most, milliseconds. */
export const longestHoldMs = 50;

/** How often processor time is read, and so the longest that several short turns may be taken for one. */
const resolutionMs = 1;
/** Most times that something is tried. */
export const maxTries = 4;

/**
 * The longest that one turn of this thread's event loop took while `run` was under way, in milliseconds of processor time: what else
 * the machine is busy with does not count. Code that is not compiled yet does, and a collection of garbage, so the shortest of a few
 * tries counts, and the first one within the bound is enough.
 */
export async function longestHold(run: () => unknown): Promise<number> {
  let shortest = Infinity;
  for (let left = maxTries; left > 0 && shortest > longestHoldMs; left -= 1) {
    let longest = 0;
    let last = threadMs();
    const read = (): void => {
      const now = threadMs();
      longest = Math.max(longest, now - last);
      last = now;
    };
    const reading = setInterval(read, resolutionMs);
    await run();
    await nextTurn();
    clearInterval(reading);
    read();
    shortest = Math.min(shortest, longest);
  }
  return shortest;
}

/** Processor time of this thread so far. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
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

/** Starts a thread that does nothing: its lateness comes from other programs on the machine. */
export function startIdleThread(): IdleThread {
  const worker = new Worker(idler, { eval: true });
  return {
    longestWait: async () => {
      const answered = once(worker, 'message');
      worker.postMessage('ask');
      const [maxMs] = (await answered) as [number];
      return maxMs;
    },
    close: () => worker.terminate(),
  };
}
