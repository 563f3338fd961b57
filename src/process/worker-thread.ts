import { Worker, type WorkerOptions } from 'node:worker_threads';
import { ByNumber } from '../core/by-number.ts';
import { waitFor } from '../core/clock.ts';
import { Failure, type FailureCode } from '../core/failure.ts';
import { type StartThread, ThreadEnded, type ThreadOptions } from '../core/worker-thread.ts';
import { backgroundClock } from './clock.ts';

const preload = new URL('./shortages-in-worker.ts', import.meta.url).href;

/**
 * Starts a thread, which no shortage ends that its script does not handle. The only function that starts threads; a lint rule refuses
 * `Worker` everywhere else. V8's flags are those of the process.
 */
export function startWorker(script: URL, options: WorkerOptions = {}): Worker {
  return new Worker(script, { ...options, execArgv: ['--import', preload] });
}

/** What the thread's script (function-worker.ts) is started with. */
export interface FunctionWorkerData {
  readonly module: string;
  readonly data: unknown;
  readonly isLowPriority: boolean;
}

/** A message to the thread. Without an id, no caller waits for a result. */
export interface FunctionCall {
  readonly id: number | undefined;
  readonly name: string;
  readonly given: readonly unknown[];
}

/** A message of the thread: a result, a failure as fields because messages lose the class, or once `ready`, when it has loaded. */
export type FunctionReply<Result = unknown> =
  | { readonly id: number; readonly result: Result }
  | { readonly id: number; readonly failure: { readonly code: FailureCode; readonly message: string } }
  | 'ready';

interface OpenCall {
  /** `never`: the type of each result is that of its own function. */
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** How often a silent thread is checked within its limit. */
const looks = 4;
/** How much longer a thread without a processor may be silent, in limits and in milliseconds. */
const maxLimits = 8;
const maxStarvedMs = 10_000;

/** A thread does not keep the process alive. */
function startFunctions({ module, data, isLowPriority = false, name, env, ...limits }: ThreadOptions<unknown>): Worker {
  const workerData: FunctionWorkerData = { module: module.href, data, isLowPriority };
  const worker = startWorker(new URL('./function-worker.ts', import.meta.url), {
    workerData,
    ...(name === undefined ? {} : { name }),
    ...(env === undefined ? {} : { env }),
    resourceLimits: {
      ...(limits.maxHeapMb !== undefined && { maxOldGenerationSizeMb: limits.maxHeapMb }),
      ...(limits.maxYoungMb !== undefined && { maxYoungGenerationSizeMb: limits.maxYoungMb }),
    },
  });
  worker.unref();
  return worker;
}

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
 * Resolves when a thread was silent for too long although it had a processor. Its processor time is measured from the first check
 * on, which comes after a part of the limit. A thread that runs without a pause has had the rest of the limit at the last check. A
 * thread without processors may be silent for longer.
 */
async function waitForSilence(
  worker: Worker,
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const stepMs = limitMs / looks;
  const enoughMs = (limitMs - stepMs) * 0.9;
  const maxMs = limitMs + Math.min(maxLimits * limitMs, maxStarvedMs);
  let firstMs: number | undefined;
  for (let silentMs = 0; silentMs < maxMs && !signal.aborted; silentMs += stepMs) {
    await waitFor(stepMs, { clock: backgroundClock, signal });
    const ranMs = signal.aborted ? undefined : await ranOf(worker, { withinMs: stepMs, signal });
    if (ranMs === undefined) silentMs += stepMs;
    firstMs ??= ranMs;
    if (ranMs !== undefined && firstMs !== undefined && ranMs - firstMs >= enoughMs) return;
  }
}

/** Without a reason, each message would make an error with its stack. */
const watchedAnew = 'watched anew';

/** The protocol of all threads that run functions: numbered calls, a limit of silence, and a new thread after the end of one. */
export const startThread: StartThread = (options) => {
  const { silenceMs, startMs = silenceMs, idleMs } = options;
  const calls = new ByNumber<OpenCall>();
  const ending = new Set<Promise<unknown>>();
  let nextId = 0;
  let worker: Worker | undefined;
  let hasStarted = false;
  let watching = new AbortController();
  let isClosed = false;

  function start(): Worker {
    const started = startFunctions(options);
    started.on('message', (message: FunctionReply<never>) => {
      if (worker !== started) return;
      hasStarted = true;
      if (message !== 'ready') settle(message);
      watch(started);
    });
    const ended = (cause: unknown): void => {
      if (worker === started) giveUp('the thread ended', cause);
    };
    started.on('error', ended);
    started.on('exit', ended);
    return started;
  }

  function settle(reply: Exclude<FunctionReply<never>, 'ready'>): void {
    const call = calls.get(reply.id);
    calls.delete(reply.id);
    if ('failure' in reply) call?.reject(new Failure(reply.failure.code, reply.failure.message));
    else call?.resolve(reply.result);
  }

  /** Ends the thread and rejects all calls. The next call starts another thread. */
  function giveUp(message: string, cause?: unknown): void {
    const ended = worker;
    if (ended === undefined) return;
    const error = new ThreadEnded(message, { hadStarted: hasStarted, cause });
    worker = undefined;
    hasStarted = false;
    watching.abort();
    const end = ended.terminate().finally(() => ending.delete(end));
    ending.add(end);
    const rejected = calls.values();
    calls.clear();
    for (const { reject } of rejected) reject(error);
  }

  /** Restarts the limit of silence, or of idleness when no call is open. */
  function watch(watched: Worker): void {
    watching.abort(watchedAnew);
    watching = new AbortController();
    const { signal } = watching;
    const unless = (message: string) => () => {
      if (!signal.aborted) giveUp(message);
    };
    if (calls.size > 0) {
      const limitMs = hasStarted ? silenceMs : startMs;
      void waitForSilence(watched, { limitMs, signal }).then(unless('the thread did not answer in time'));
    } else if (idleMs !== undefined) {
      void waitFor(idleMs, { clock: backgroundClock, signal }).then(unless('the thread had nothing to do'));
    }
  }

  return {
    call: (name, given, transfer = []) => {
      if (isClosed) return Promise.reject(new ThreadEnded('closed', { hadStarted: false, cause: undefined }));
      try {
        worker ??= start();
      } catch (cause) {
        // A thread needs files of its own. The next call tries again.
        return Promise.reject(new ThreadEnded('the thread could not start', { hadStarted: false, cause }));
      }
      const id = nextId++;
      const call: FunctionCall = { id, name, given };
      // Throws if what is given cannot be cloned. Then there is no call.
      worker.postMessage(call, transfer);
      const started = worker;
      return new Promise((resolve, reject) => {
        calls.set(id, { resolve, reject });
        if (calls.size === 1) watch(started);
      });
    },
    post: (name, given) => {
      const call: FunctionCall = { id: undefined, name, given };
      worker?.postMessage(call);
    },
    pending: () => calls.size,
    close: async () => {
      isClosed = true;
      giveUp('the thread was closed');
      await Promise.all(ending);
    },
  };
};
