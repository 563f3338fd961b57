// @suite apart
import { afterEach, describe, expect, it } from 'vitest';
import { ThreadEnded, type ThreadOptions, type WorkerThread } from '../core/worker-thread.ts';
import { startThread } from './worker-thread.ts';

let thread: WorkerThread<string, string> | undefined;
afterEach(() => thread?.close());

/** A thread that answers `text` with its own number and the text, but for the words that make it misbehave. */
const script = `import { parentPort, threadId, workerData } from 'node:worker_threads';
  const told = [];
  parentPort.on('message', ({ id, ask }) => {
    if (ask === 'die') process.exit(1);
    if (ask === 'spin') for (;;);
    if (ask === 'run') for (const until = performance.now() + 5_000; performance.now() < until;);
    if (ask === 'stand') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    if (id === undefined) told.push(ask);
    else if (ask === 'told') parentPort.postMessage({ id, reply: told.join() });
    else if (ask !== 'ignore') parentPort.postMessage({ id, reply: workerData + threadId + ask });
  });
  if (workerData === 'slow:') setTimeout(() => parentPort.postMessage('ready'), 300);`;

function start(options: Partial<ThreadOptions> = {}): WorkerThread<string, string> {
  thread = startThread({
    script: new URL(`data:text/javascript,${encodeURIComponent(script)}`),
    workerData: '',
    silenceMs: 20_000,
    ...options,
  });
  return thread;
}

describe('a thread that answers questions', () => {
  it('gives each question its own reply, in whatever order', async () => {
    const asked = start({ workerData: 'w' });
    const replies = await Promise.all(['a', 'b', 'c'].map((text) => asked.ask(text)));
    expect(replies.map((reply) => reply.at(-1))).toEqual(['a', 'b', 'c']);
    expect(replies.every((reply) => reply.startsWith('w'))).toBe(true);
    expect(asked.pending()).toBe(0);
  });

  it('is told without a reply, and not while it does not run', async () => {
    const asked = start();
    asked.post('early');
    await asked.ask('a');
    asked.post('one');
    asked.post('two');
    expect(await asked.ask('told')).toBe('one,two');
  });

  it.each(['die', 'spin'])('rejects all questions when it ends (%s), and another takes its place', async (word) => {
    const asked = start({ silenceMs: 200, startMs: 20_000 });
    const before = await asked.ask('a');
    const ended = await Promise.allSettled([asked.ask('ignore'), asked.ask(word)]);
    for (const result of ended) {
      expect(result).toMatchObject({ status: 'rejected', reason: { name: 'ThreadEnded', hadStarted: true } });
    }
    const after = await asked.ask('a');
    expect(after).not.toBe(before);
  });

  it('is not ended where it stood still for want of a processor', async () => {
    const asked = start({ silenceMs: 300, startMs: 20_000 });
    await asked.ask('a');
    expect(await asked.ask('stand')).toMatch(/stand$/);
  });

  it('is ended where it ran as long, and where it stands still for ever', async () => {
    const asked = start({ silenceMs: 300, startMs: 20_000 });
    await asked.ask('a');
    await expect(asked.ask('run')).rejects.toMatchObject({ hadStarted: true });
    await asked.ask('a');
    await expect(asked.ask('ignore')).rejects.toMatchObject({ hadStarted: true });
  });

  it('may take longer to start than to answer', async () => {
    const asked = start({ workerData: 'slow:', silenceMs: 100, startMs: 20_000 });
    const began = performance.now();
    await expect(asked.ask('ignore')).rejects.toMatchObject({ hadStarted: true });
    expect(performance.now() - began).toBeGreaterThan(350);
  });

  it('says when it was never started, so that its question is not blamed', async () => {
    const asked = startThread<string, string>({ script: new URL('data:text/javascript,throw 1'), silenceMs: 20_000 });
    await expect(asked.ask('a')).rejects.toMatchObject({ hadStarted: false });
    await asked.close();
  });

  it('is ended when it has nothing to do, and started anew', async () => {
    const asked = start({ idleMs: 1 });
    const first = await asked.ask('a');
    await expect.poll(() => asked.ask('a'), { interval: 20 }).not.toBe(first);
  });

  it('answers no more when it is closed', async () => {
    const asked = start();
    const [pending] = await Promise.allSettled([asked.ask('ignore'), asked.close()]);
    expect(pending).toMatchObject({ status: 'rejected' });
    await expect(asked.ask('a')).rejects.toBeInstanceOf(ThreadEnded);
  });
});
