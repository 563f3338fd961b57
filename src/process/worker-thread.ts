import type { Worker } from 'node:worker_threads';
import { ByNumber } from '../core/by-number.ts';
import { waitFor } from '../core/clock.ts';
import { ThreadEnded, type ThreadOptions, type ThreadReply, type WorkerThread } from '../core/worker-thread.ts';
import { backgroundClock } from './clock.ts';
import { startWorker } from './start-worker.ts';

interface Question<Reply> {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: ThreadEnded) => void;
}

/** How often a silent thread is checked within its limit. */
const looks = 4;
/** How much longer a thread without a processor may be silent, in limits and in milliseconds. */
const maxLimits = 8;
const maxStarvedMs = 10_000;

/**
 * Processor time that a thread has had, milliseconds; undefined if the thread does not answer in time, because it has
 * no processor.
 */
async function ranOf(
  worker: Worker,
  { withinMs, signal }: { readonly withinMs: number; readonly signal: AbortSignal },
): Promise<number | undefined> {
  const late = waitFor(withinMs, { clock: backgroundClock, signal });
  const used = await Promise.race([worker.cpuUsage().catch(() => undefined), late]);
  return typeof used === 'object' ? (used.user + used.system) / 1_000 : undefined;
}

/**
 * The protocol of all threads that answer questions: numbered questions, a limit of silence, and a new thread after the end of
 * one. A thread does not keep the process alive.
 */
export function startThread<Ask, Reply>(options: ThreadOptions): WorkerThread<Ask, Reply> {
  const { script, name, workerData, env, maxHeapMb, maxYoungMb, silenceMs, startMs = silenceMs, idleMs } = options;
  const questions = new ByNumber<Question<Reply>>();
  const ending = new Set<Promise<unknown>>();
  let nextId = 0;
  let worker: Worker | undefined;
  let hasStarted = false;
  let watching = new AbortController();
  let isClosed = false;

  function start(): Worker {
    const started = startWorker(script, {
      workerData,
      ...(name === undefined ? {} : { name }),
      ...(env === undefined ? {} : { env }),
      resourceLimits: {
        ...(maxHeapMb !== undefined && { maxOldGenerationSizeMb: maxHeapMb }),
        ...(maxYoungMb !== undefined && { maxYoungGenerationSizeMb: maxYoungMb }),
      },
    });
    started.unref();
    started.on('message', (message: ThreadReply<Reply>) => {
      if (worker !== started) return;
      hasStarted = true;
      const question = message === 'ready' || message.id === undefined ? undefined : questions.get(message.id);
      if (message !== 'ready' && message.id !== undefined) questions.delete(message.id);
      if (message !== 'ready') question?.resolve(message.reply);
      watch();
    });
    const ended = (cause: unknown): void => {
      if (worker === started) giveUp('the thread ended', cause);
    };
    started.on('error', ended);
    started.on('exit', ended);
    return started;
  }

  /** Ends the thread and rejects all questions. The next question starts another thread. */
  function giveUp(message: string, cause?: unknown): void {
    const ended = worker;
    if (ended === undefined) return;
    const error = new ThreadEnded(message, { hadStarted: hasStarted, cause });
    worker = undefined;
    hasStarted = false;
    watching.abort();
    const end = ended.terminate().finally(() => ending.delete(end));
    ending.add(end);
    const rejected = questions.values();
    questions.clear();
    for (const { reject } of rejected) reject(error);
  }

  /** Restarts the limit of silence, or of idleness when no question is open. */
  function watch(): void {
    watching.abort();
    watching = new AbortController();
    if (questions.size > 0) void endSilent(hasStarted ? silenceMs : startMs, watching.signal);
    else if (idleMs !== undefined) void endIdle(idleMs, watching.signal);
  }

  async function endIdle(limitMs: number, signal: AbortSignal): Promise<void> {
    await waitFor(limitMs, { clock: backgroundClock, signal });
    if (!signal.aborted) giveUp('the thread had nothing to do');
  }

  /**
   * Ends a thread that is silent although it had a processor. Its processor time is measured from the first check on,
   * which comes after a part of the limit. A thread that runs without a pause has had the rest of the limit at the last
   * check. A thread without processors may be silent for longer.
   */
  async function endSilent(limitMs: number, signal: AbortSignal): Promise<void> {
    const stepMs = limitMs / looks;
    const enoughMs = (limitMs - stepMs) * 0.9;
    const maxMs = limitMs + Math.min(maxLimits * limitMs, maxStarvedMs);
    let firstMs: number | undefined;
    for (let silentMs = 0; silentMs < maxMs; silentMs += stepMs) {
      await waitFor(stepMs, { clock: backgroundClock, signal });
      if (signal.aborted || worker === undefined) return;
      const ranMs = await ranOf(worker, { withinMs: stepMs, signal });
      if (signal.aborted) return;
      if (ranMs === undefined) silentMs += stepMs;
      firstMs ??= ranMs;
      if (ranMs !== undefined && firstMs !== undefined && ranMs - firstMs >= enoughMs) break;
    }
    giveUp('the thread did not answer in time');
  }

  return {
    ask: (ask, transfer = []) => {
      if (isClosed) return Promise.reject(new ThreadEnded('closed', { hadStarted: false, cause: undefined }));
      try {
        worker ??= start();
      } catch (cause) {
        // A thread needs files of its own. The next question tries again.
        return Promise.reject(new ThreadEnded('the thread could not start', { hadStarted: false, cause }));
      }
      const id = nextId++;
      // Throws if the question cannot be copied. Then there is none.
      worker.postMessage({ id, ask }, transfer);
      const { promise, resolve, reject } = Promise.withResolvers<Reply>();
      questions.set(id, { resolve, reject });
      if (questions.size === 1) watch();
      return promise;
    },
    post: (message) => worker?.postMessage({ id: undefined, ask: message }),
    pending: () => questions.size,
    close: async () => {
      isClosed = true;
      giveUp('the thread was closed');
      await Promise.all(ending);
    },
  };
}
