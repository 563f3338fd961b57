import { Worker } from 'node:worker_threads';
import { ByNumber } from '../core/by-number.ts';
import { ThreadEnded, type ThreadOptions, type ThreadReply, type WorkerThread } from '../core/worker-thread.ts';

interface Question<Reply> {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: ThreadEnded) => void;
}

/**
 * The protocol of all threads that answer questions: numbered questions, a limit of silence, and a new thread after the end of
 * one. A thread does not keep the process alive.
 */
export function startThread<Ask, Reply>(options: ThreadOptions): WorkerThread<Ask, Reply> {
  const { script, name, workerData, env, maxHeapMb, silenceMs, startMs = silenceMs, idleMs } = options;
  const questions = new ByNumber<Question<Reply>>();
  const ending = new Set<Promise<unknown>>();
  let nextId = 0;
  let worker: Worker | undefined;
  let hasStarted = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function start(): Worker {
    const started = new Worker(script, {
      workerData,
      ...(name === undefined ? {} : { name }),
      ...(env === undefined ? {} : { env }),
      ...(maxHeapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } }),
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
    clearTimeout(timer);
    const end = ended.terminate().finally(() => ending.delete(end));
    ending.add(end);
    const rejected = questions.values();
    questions.clear();
    for (const { reject } of rejected) reject(error);
  }

  /** Begins to count silence anew, or idleness. */
  function watch(): void {
    clearTimeout(timer);
    if (questions.size > 0) {
      timer = setTimeout(silent, hasStarted ? silenceMs : startMs).unref();
    } else if (idleMs !== undefined) {
      timer = setTimeout(() => giveUp('the thread had nothing to do'), idleMs).unref();
    }
  }

  /** If the event loop itself was held up, a reply may be here already: it is read before the timer below runs. */
  function silent(): void {
    timer = setTimeout(() => giveUp('the thread did not answer in time'), 1).unref();
  }

  return {
    ask: (ask, transfer = []) => {
      if (isClosed) return Promise.reject(new ThreadEnded('closed', { hadStarted: false, cause: undefined }));
      worker ??= start();
      const id = nextId++;
      const { promise, resolve, reject } = Promise.withResolvers<Reply>();
      questions.set(id, { resolve, reject });
      if (questions.size === 1) watch();
      worker.postMessage({ id, ask }, transfer);
      return promise;
    },
    tell: (message) => worker?.postMessage({ id: undefined, ask: message }),
    pending: () => questions.size,
    close: async () => {
      isClosed = true;
      giveUp('the thread was closed');
      await Promise.all(ending);
    },
  };
}
