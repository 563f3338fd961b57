import { Worker } from 'node:worker_threads';
import { mergeResults, type Arrival, type Load, type LoadEvents, type LoadResult } from './load.ts';
import type { LoadReport } from './load-worker.ts';

/** Threads that stay up between loads, so that their code is warm and none of it runs on the thread that reads `/proc`. */
export interface LoadPool {
  readonly run: (load: Load, events?: Partial<LoadEvents>) => Promise<LoadResult>;
  /** A pool with a thread of its own, for callers beside those that are measured. */
  readonly beside: () => LoadPool;
  readonly close: () => Promise<void>;
}

export function openLoadPool(threads: number): LoadPool {
  let beside: LoadPool | undefined;
  const workers = Array.from({ length: threads }, () => new Worker(new URL('./load-worker.ts', import.meta.url)));
  return {
    async run(load, events = {}) {
      let begun = 0;
      let ended = 0;
      const results = await Promise.all(
        workers.map((worker, index) =>
          runOn(worker, { ...load, arrival: share(load.arrival, threads, index) }, (report) => {
            // The window of the whole is from the first thread's begin to the last one's end.
            if (report.kind === 'begin') {
              begun += 1;
              if (begun === 1) events.onBegin?.();
            } else if (report.kind === 'end') {
              ended += 1;
              if (ended === threads) events.onEnd?.();
            }
          }),
        ),
      );
      return mergeResults(results);
    },
    beside: () => (beside ??= openLoadPool(1)),
    async close() {
      await beside?.close();
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

/** This thread's part of an arrival. */
function share(arrival: Arrival, threads: number, index: number): Arrival {
  if (arrival.kind === 'open') return { kind: 'open', perSecond: arrival.perSecond / threads };
  const least = Math.floor(arrival.connections / threads);
  return { kind: 'closed', connections: least + (index < arrival.connections % threads ? 1 : 0) };
}

function runOn(worker: Worker, load: Load, onReport: (report: LoadReport) => void): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      worker.off('message', onMessage);
      worker.off('error', onError);
    };
    const onMessage = (report: LoadReport): void => {
      onReport(report);
      if (report.kind !== 'done') return;
      settle();
      resolve(report.result);
    };
    const onError = (error: unknown): void => {
      settle();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.postMessage(load);
  });
}
