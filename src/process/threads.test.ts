// @suite apart
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { watchThreads } from './threads.ts';

/** A thread that is busy for as long as the message says, and says so when it begins. */
const script = `import { parentPort } from 'node:worker_threads';
parentPort.on('message', (forMs) => {
  parentPort.postMessage('begun');
  const until = performance.now() + forMs;
  while (performance.now() < until);
});
parentPort.postMessage('ready');`;

it('reports of each thread how busy it was, how long a message waits for it, and its memory', async () => {
  const threads = watchThreads();
  onTestFinished(threads.close);
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`), { name: 'weir-test' });
  onTestFinished(async () => void (await worker.terminate()));
  await once(worker, 'message');
  const read = async () => (await threads.read()).find(({ thread }) => thread === 'test');
  const idle = await read();
  expect(idle?.delayMs).toBeLessThan(1_000);
  expect(idle?.memory?.heapBytes).toBeGreaterThan(0);

  worker.postMessage(300);
  await once(worker, 'message');
  const busy = await read();
  // Less what this process itself took to ask.
  expect(busy?.delayMs).toBeGreaterThan(100);
  expect(((await read())?.busyMs ?? 0) - (idle?.busyMs ?? 0)).toBeGreaterThan(100);

  worker.postMessage(5_000);
  await once(worker, 'message');
  // The clock of the question and the timer of its end may differ by a fraction.
  expect(Math.round((await read())?.delayMs ?? 0)).toBe(1_000);
  expect((await threads.read()).find(({ thread }) => thread === 'requests')?.delayMs).toBeUndefined();
  await worker.terminate();
  await expect.poll(async () => (await threads.read()).length).toBe(1);
});
