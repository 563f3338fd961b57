import { Worker } from 'node:worker_threads';
import type { StructureResult } from '../core/structure.ts';
import type { CheckReply, CheckTask } from './check-task.ts';

export interface CheckThreadOptions {
  readonly script: URL;
  /** Most time one check may take. */
  readonly allowanceMs: number;
  /** Most time a check may wait for its turn. */
  readonly patienceMs: number;
  /** Told what took too long, or took the thread with it. */
  readonly stuck?: (task: CheckTask) => void;
}

/** One thread, replaced when a check takes too long. Checks take turns, first come first served. Never rejects. */
export interface CheckThread {
  readonly check: (task: CheckTask) => Promise<StructureResult>;
  readonly close: () => Promise<void>;
}

interface Job {
  readonly task: CheckTask;
  readonly settle: (verdict: StructureResult) => void;
  readonly asked: number;
}

/** Loading takes a tenth of a second; more than this, and it never ends. */
const startMs = 10_000;
/** More would wait longer than they may, or take more memory than an answer's check is worth: told `unknown` at once. */
const maxWaiting = 8_192;
const maxWaitingCharacters = 64 * 1024 * 1024;
/** For what one check needs and the compiled schemas; a check that needs more is given up with the thread. */
const maxHeapMb = 256;

const late: StructureResult = { kind: 'unknown', reason: 'time' };

export function startCheckThread(options: CheckThreadOptions): CheckThread {
  const { script, allowanceMs, patienceMs, stuck } = options;
  const waiting: Job[] = [];
  let waitingCharacters = 0;
  let worker: Worker | undefined;
  let isReady = false;
  let current: Job | undefined;
  let watchdog: NodeJS.Timeout | undefined;
  /** Threads that have been told to end. */
  const ending = new Set<Promise<unknown>>();
  let closed = false;

  function watch(ms: number, overdue: () => void): void {
    clearTimeout(watchdog);
    // After the main thread itself was held up, the reply may be here already: it is read before the second look.
    watchdog = setTimeout(() => {
      watchdog = setTimeout(overdue, 1);
    }, ms);
  }

  function take(): Job | undefined {
    const job = waiting.shift();
    if (job !== undefined) waitingCharacters -= job.task.text.length;
    return job;
  }

  /** Gives the thread up, and what it was doing with it. */
  function replace(): void {
    const [ended, job] = [worker, current];
    const wasReady = isReady;
    clearTimeout(watchdog);
    watchdog = undefined;
    worker = undefined;
    current = undefined;
    isReady = false;
    if (ended !== undefined) {
      const end = ended.terminate().finally(() => ending.delete(end));
      ending.add(end);
    }
    if (job !== undefined) {
      stuck?.(job.task);
      job.settle(late);
    }
    // A thread that cannot even start will not start for the next one either: nobody waits for it.
    if (!wasReady || closed) for (let next = take(); next !== undefined; next = take()) next.settle(late);
    pump();
  }

  function start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb };
    // Schemas become code there: nothing of ours is in its environment.
    const started = new Worker(script, { name: 'weir-structure', env: {}, resourceLimits });
    const died = (): void => {
      if (worker === started) replace();
    };
    started.on('message', (reply: CheckReply) => {
      if (worker !== started) return;
      clearTimeout(watchdog);
      watchdog = undefined;
      isReady = true;
      const job = current;
      current = undefined;
      if (reply !== 'ready') job?.settle(reply);
      pump();
    });
    started.on('error', died);
    started.on('exit', died);
    watch(startMs, replace);
    return started;
  }

  function pump(): void {
    if (current !== undefined) return;
    let next = waiting[0];
    for (; next !== undefined && performance.now() - next.asked > patienceMs; next = waiting[0]) take()?.settle(late);
    if (next === undefined) {
      // An idle thread does not keep the process alive.
      if (isReady) worker?.unref();
      return;
    }
    worker ??= start();
    worker.ref();
    if (!isReady) return;
    current = take();
    watch(allowanceMs, replace);
    worker.postMessage(next.task);
  }

  return {
    check: (task) => {
      const { length } = task.text;
      const isFull = waiting.length >= maxWaiting || waitingCharacters + length > maxWaitingCharacters;
      if (closed || isFull) return Promise.resolve(late);
      return new Promise((settle) => {
        waiting.push({ task, settle, asked: performance.now() });
        waitingCharacters += length;
        pump();
      });
    },
    close: async () => {
      closed = true;
      replace();
      await Promise.all(ending);
    },
  };
}
