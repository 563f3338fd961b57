import type { StructureResult } from '../core/structure.ts';
import { type StartThread, ThreadEnded } from '../core/worker-thread.ts';
import type { CheckTask } from './check-task.ts';

export interface CheckThreadOptions {
  readonly script: URL;
  readonly startThread: StartThread;
  /** Most time one check may take. */
  readonly allowanceMs: number;
  /** Most time a check may wait for its turn. */
  readonly patienceMs: number;
  /** Called with a check that took too long, or that ended the thread. */
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

/** Loading takes a tenth of a second; after this long it will not succeed. */
const startMs = 10_000;
/** More checks would wait too long or take too much memory: their result is `unknown` at once. */
const maxWaiting = 8_192;
const maxWaitingCharacters = 64 * 1024 * 1024;
/** Room for one check and the compiled schemas; a check that needs more ends the thread. */
const maxHeapMb = 256;

const late: StructureResult = { kind: 'unknown', reason: 'time' };

export function startCheckThread(options: CheckThreadOptions): CheckThread {
  const { script, startThread, allowanceMs, patienceMs, stuck } = options;
  const thread = startThread<CheckTask, StructureResult>({
    script,
    name: 'weir-structure',
    // Schemas become code there: the thread gets nothing of our environment.
    env: {},
    maxHeapMb,
    startMs,
    silenceMs: allowanceMs,
  });
  const waiting: Job[] = [];
  let waitingCharacters = 0;
  let isWorking = false;
  let isClosed = false;

  function take(): Job | undefined {
    const job = waiting.shift();
    if (job !== undefined) waitingCharacters -= job.task.text.length;
    return job;
  }

  function settleAll(): void {
    for (let job = take(); job !== undefined; job = take()) job.settle(late);
  }

  async function run({ task, settle, asked }: Job): Promise<void> {
    if (performance.now() - asked > patienceMs) {
      settle(late);
      return;
    }
    try {
      settle(await thread.ask(task));
    } catch (error) {
      const hadStarted = error instanceof ThreadEnded && error.hadStarted;
      if (hadStarted) stuck?.(task);
      settle(late);
      // A thread that cannot even start will not start for the next check either.
      if (!hadStarted) settleAll();
    }
  }

  async function work(): Promise<void> {
    isWorking = true;
    for (let job = take(); job !== undefined; job = take()) await run(job);
    isWorking = false;
  }

  return {
    check: (task) => {
      const { length } = task.text;
      const isFull = waiting.length >= maxWaiting || waitingCharacters + length > maxWaitingCharacters;
      if (isClosed || isFull) return Promise.resolve(late);
      return new Promise((settle) => {
        waiting.push({ task, settle, asked: performance.now() });
        waitingCharacters += length;
        if (!isWorking) void work();
      });
    },
    close: async () => {
      isClosed = true;
      settleAll();
      await thread.close();
    },
  };
}
