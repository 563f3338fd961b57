import { parentPort } from 'node:worker_threads';
import { runLoad, type Load, type LoadResult } from './load.ts';

export type LoadReport =
  | { readonly kind: 'begin' }
  | { readonly kind: 'end' }
  | { readonly kind: 'done'; readonly result: LoadResult };

/** Entry of a load thread: runs the loads it is sent, one after the other, and reports when the counted window opens and closes. */
const port = parentPort;
if (port === null) throw new Error('load-worker.ts is the entry of a worker thread');
const report = (message: LoadReport): void => port.postMessage(message);
port.on('message', (load: Load) => {
  void runLoad(load, {
    onBegin: () => report({ kind: 'begin' }),
    onEnd: () => report({ kind: 'end' }),
  }).then((result) => report({ kind: 'done', result }));
});
