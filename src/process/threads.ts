import { getHeapStatistics } from 'node:v8';
import { postMessageToThread, type Worker } from 'node:worker_threads';

/** One thread of this process. */
interface ThreadReading {
  /** `requests` for the thread that serves them, else the name that the thread was given. */
  readonly thread: string;
  /** Time in which its event loop did not wait, since its start. */
  readonly busyMs: number;
  /**
   * How long a message has just waited for the event loop of the thread, up to a second. Undefined for the thread that
   * takes the reading, because it would wait for itself.
   */
  readonly delayMs: number | undefined;
  /** Undefined: the thread did not answer in time, because it is in the middle of a long step. */
  readonly memory: { readonly heapBytes: number; readonly externalBytes: number } | undefined;
}

export type ThreadWatch = ReturnType<typeof watchThreads>;

/** A thread answers at once, unless it is in native code that does not end. */
const timeoutMs = 100;
/** Longest delay that is measured. */
const maxDelayMs = 1_000;

/** Watches all threads that are started from now on, by any module. The threads need no code for it. */
export function watchThreads() {
  const workers = new Set<Worker>();
  const add = (worker: Worker): void => {
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
  };
  process.on('worker', add);
  return {
    close: (): void => void process.off('worker', add),
    read: async (): Promise<readonly ThreadReading[]> => {
      const { used_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
      const busyMs = performance.eventLoopUtilization().active;
      const own = { thread: 'requests', busyMs, delayMs: undefined, memory: { heapBytes, externalBytes } };
      return [own, ...(await Promise.all([...workers].map(readWorker)))];
    },
  };
}

async function readWorker(worker: Worker): Promise<ThreadReading> {
  const thread = (worker.threadName ?? '').replace(/^weir-/, '') || 'other';
  const busyMs = worker.performance.eventLoopUtilization().active;
  const [delayMs, memory] = await Promise.all([delayOf(worker), memoryOf(worker)]);
  return { thread, busyMs, delayMs, memory };
}

/**
 * Measures how long a message waits for the thread's event loop. No code of the thread listens to the message: Node
 * refuses it when the event loop reaches it.
 */
async function delayOf(worker: Worker): Promise<number> {
  const sentAt = performance.now();
  await postMessageToThread(worker.threadId, undefined, [], maxDelayMs).catch(() => undefined);
  return Math.min(maxDelayMs, performance.now() - sentAt);
}

async function memoryOf(worker: Worker): Promise<ThreadReading['memory']> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), timeoutMs).unref();
  // The call rejects if the thread ends meanwhile.
  const heap = await Promise.race([worker.getHeapStatistics().catch(() => undefined), late]);
  clearTimeout(timer);
  return heap && { heapBytes: heap.used_heap_size, externalBytes: heap.external_memory };
}
