// Loaded with `node --import` by every process of a gateway: the service takes three seconds longer to start.
import { isMainThread } from 'node:worker_threads';

const delayMs = 3_000;
if (isMainThread && process.argv.includes('serve')) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, delayMs);
}
