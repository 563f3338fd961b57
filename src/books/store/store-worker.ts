import { type MessagePort, parentPort } from 'node:worker_threads';
import { runStore } from './run-store.ts';
import type { StoreReply, StoreRequest, StoreWorkerData } from './worker-message.ts';

/** The store's thread. `startStoreThread` starts it, and the first message of `openStore` says what it opens. */
function run(port: MessagePort, worker: StoreWorkerData): Promise<void> {
  return runStore(worker, {
    reply: (message: StoreReply) => port.postMessage(message),
    listen: (take) => void port.on('message', (request: StoreRequest) => take(request)),
    close: () => port.close(),
  });
}

const port = parentPort;
port?.once('message', (worker: StoreWorkerData) => void run(port, worker));
