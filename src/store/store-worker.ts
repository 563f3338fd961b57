import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { runStore } from './run-store.ts';
import type { StoreReply, StoreRequest, StoreWorkerData } from './worker-message.ts';

/** The store's thread. `openStore` starts it. */
function run(port: MessagePort, worker: StoreWorkerData): Promise<void> {
  return runStore(worker, {
    reply: (message: StoreReply) => port.postMessage(message),
    listen: (take) => void port.on('message', (request: StoreRequest) => take(request)),
    close: () => port.close(),
  });
}

// oxlint-disable-next-line typescript/consistent-type-assertions -- `openStore`, which starts this thread, is typed to give exactly this.
if (parentPort) await run(parentPort, workerData as StoreWorkerData);
