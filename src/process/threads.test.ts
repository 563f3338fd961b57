// @suite apart
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { watchThreads } from './threads.ts';

/** A thread that is busy from a message on until its flag is set, and says so when it begins. */
const script = `import { parentPort } from 'node:worker_threads';
parentPort.on('message', (flag) => {
  parentPort.postMessage('begun');
  while (Atomics.load(flag, 0) === 0);
});
parentPort.postMessage('ready');`;

it('reports of each thread how busy it was, how long a message waits for it, and its memory', async () => {
  const threads = watchThreads();
  onTestFinished(threads.close);
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), { name: 'weir-test' });
  onTestFinished(async () => void (await worker.terminate()));
  await once(worker, 'message');
  const read = async () => (await threads.read()).find(({ thread }) => thread === 'test');
  await expect.poll(async () => (await read())?.delayMs).toBeLessThan(1_000);
  const idle = await read();
  expect(idle?.memory?.heapBytes).toBeGreaterThan(0);

  const flag = new Int32Array(new SharedArrayBuffer(4));
  worker.postMessage(flag);
  await once(worker, 'message');
  const reading = read();
  await sleep(150);
  Atomics.store(flag, 0, 1);
  const busy = await reading;
  expect(busy?.delayMs).toBeGreaterThan(100);
  expect(((await read())?.busyMs ?? 0) - (idle?.busyMs ?? 0)).toBeGreaterThan(100);

  Atomics.store(flag, 0, 0);
  worker.postMessage(flag);
  await once(worker, 'message');
  // The clock of the question and the timer of its end may differ by a fraction.
  expect(Math.round((await read())?.delayMs ?? 0)).toBe(1_000);
  expect((await threads.read()).find(({ thread }) => thread === 'requests')?.delayMs).toBeUndefined();
  await worker.terminate();
  await expect.poll(async () => (await threads.read()).length).toBe(1);
});
