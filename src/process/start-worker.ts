import { Worker, type WorkerOptions } from 'node:worker_threads';

const preload = new URL('./shortages-in-worker.ts', import.meta.url).href;

/**
 * Starts a thread, which no shortage ends that its script does not handle. The only function that starts threads; a lint rule refuses
 * `Worker` everywhere else. V8's flags are those of the process.
 */
export function startWorker(script: URL, options: WorkerOptions = {}): Worker {
  return new Worker(script, { ...options, execArgv: ['--import', preload] });
}
