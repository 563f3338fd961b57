import { getHeapStatistics } from 'node:v8';
import type { Worker } from 'node:worker_threads';

/** One thread of this process. */
export interface ThreadReading {
  /** `requests` for the thread that serves them, else the name that the thread was given. */
  readonly thread: string;
  /** Time in which its event loop did not wait, since its start. */
  readonly busyMs: number;
  /** Undefined: the thread did not tell in time, because it is in the middle of something long. */
  readonly memory: { readonly heapBytes: number; readonly externalBytes: number } | undefined;
}

export interface ThreadWatch {
  readonly read: () => Promise<readonly ThreadReading[]>;
  readonly close: () => void;
}

/** A thread answers at once, unless it is in native code that does not end. */
const patienceMs = 100;

/** Watches all threads that are started from now on, whoever starts them. They do nothing for it but answer about their heap. */
export function watchThreads(): ThreadWatch {
  const workers = new Set<Worker>();
  const add = (worker: Worker): void => {
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
  };
  process.on('worker', add);
  return {
    close: () => void process.off('worker', add),
    read: async () => {
      const { used_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
      const busyMs = performance.eventLoopUtilization().active;
      const own = { thread: 'requests', busyMs, memory: { heapBytes, externalBytes } };
      return [own, ...(await Promise.all([...workers].map(readWorker)))];
    },
  };
}

async function readWorker(worker: Worker): Promise<ThreadReading> {
  const thread = (worker.threadName ?? '').replace(/^weir-/, '') || 'other';
  const busyMs = worker.performance.eventLoopUtilization().active;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), patienceMs).unref();
  // A thread that ends meanwhile rejects.
  const heap = await Promise.race([worker.getHeapStatistics().catch(() => undefined), late]);
  clearTimeout(timer);
  const memory = heap && { heapBytes: heap.used_heap_size, externalBytes: heap.external_memory };
  return { thread, busyMs, memory };
}
