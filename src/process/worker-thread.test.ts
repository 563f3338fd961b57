// @suite apart
import { afterEach, describe, expect, it } from 'vitest';
import { ThreadEnded, type ThreadOptions, type WorkerThread } from '../core/worker-thread.ts';
import { startThread } from './worker-thread.ts';

/** `say` returns the data, the number of the thread and the text. */
interface Functions extends Record<'die' | 'spin' | 'run' | 'stand', () => void> {
  readonly say: (text: string) => string;
  readonly note: (text: string) => void;
  readonly noted: () => string;
  readonly never: () => Promise<string>;
  readonly refuse: () => void;
  readonly fail: () => void;
  readonly unsendable: () => () => void;
  readonly bytes: () => Uint8Array;
  readonly kept: () => number;
}
const failure = new URL('../core/failure.ts', import.meta.url).href;
const script = `import { threadId } from 'node:worker_threads';
  import { Failure } from '${failure}';
  if (LOADS) await new Promise((loaded) => setTimeout(loaded, 300));
  const noted = [];
  let bytes;
  export const createFunctions = (data) => ({
    say: (text) => data + threadId + text,
    note: (text) => void noted.push(text),
    noted: () => noted.join(),
    never: () => new Promise(() => undefined),
    die: () => process.exit(1),
    spin: () => { for (;;); },
    run: () => { for (const until = performance.now() + 5_000; performance.now() < until;); },
    stand: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500),
    refuse: () => { throw new Failure('overloaded', 'later'); },
    fail: () => { throw new Error('a secret'); },
    unsendable: () => () => undefined,
    bytes: () => (bytes = new Uint8Array(1_000)),
    kept: () => bytes.length,
  });`;
const moduleOf = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`);

let thread: WorkerThread<Functions> | undefined;
afterEach(() => thread?.close());

function start({
  loadsSlowly = false,
  ...options
}: Partial<ThreadOptions<string>> & { readonly loadsSlowly?: boolean } = {}): WorkerThread<Functions> {
  thread = startThread<(data: string) => Functions>({
    module: moduleOf(script.replace('LOADS', String(loadsSlowly))),
    data: '',
    silenceMs: 20_000,
    ...options,
  });
  return thread;
}

describe('a thread that runs functions', () => {
  it('gives each call its own result, in whatever order', async () => {
    const { call, pending } = start({ data: 'w' });
    const replies = await Promise.all(['a', 'b', 'c'].map((text) => call('say', [text])));
    expect(replies.map((reply) => reply.at(-1))).toEqual(['a', 'b', 'c']);
    expect(replies.every((reply) => reply.startsWith('w'))).toBe(true);
    expect(pending()).toBe(0);
  });

  it('is called without a result, and not while it does not run', async () => {
    const { call, post } = start();
    post('note', ['early']);
    await call('say', ['a']);
    post('note', ['one']);
    post('note', ['two']);
    expect(await call('noted', [])).toBe('one,two');
  });

  it('rejects with the failure of a function, without what an unknown error says, and continues', async () => {
    const { call } = start();
    await expect(call('refuse', [])).rejects.toMatchObject({ code: 'overloaded', message: 'later' });
    const internal = { code: 'internal', message: expect.not.stringContaining('secret') as string };
    await expect(call('fail', [])).rejects.toMatchObject(internal);
    await expect(call('unsendable', [])).rejects.toMatchObject({ code: 'internal' });
    expect(await call('say', ['a'])).toMatch(/a$/);
  });

  it('hands over bytes, both ways', async () => {
    const { call } = start();
    const sent = new ArrayBuffer(8);
    await call('say', ['a'], [sent]);
    expect(sent.detached).toBe(true);
    expect(await call('bytes', [])).toHaveLength(1_000);
    expect(await call('kept', [])).toBe(0);
  });

  it.each(['die', 'spin'] as const)(
    'rejects all calls when it ends (%s), and another takes its place',
    async (name) => {
      const { call } = start({ silenceMs: 200, startMs: 20_000 });
      const before = await call('say', ['a']);
      const ended = await Promise.allSettled([call('never', []), call(name, [])]);
      for (const result of ended) {
        expect(result).toMatchObject({ status: 'rejected', reason: { name: 'ThreadEnded', hadStarted: true } });
      }
      expect(await call('say', ['a'])).not.toBe(before);
    },
  );

  it('is not ended where it stood still for want of a processor', async () => {
    const { call } = start({ silenceMs: 300, startMs: 20_000 });
    await call('say', ['a']);
    expect(await call('stand', [])).toBeUndefined();
  });

  it('is ended where it ran as long, and where it stands still for ever', async () => {
    const { call } = start({ silenceMs: 300, startMs: 20_000 });
    await call('say', ['a']);
    await expect(call('run', [])).rejects.toMatchObject({ hadStarted: true });
    await call('say', ['a']);
    await expect(call('never', [])).rejects.toMatchObject({ hadStarted: true });
  });

  it('may take longer to start than to answer', async () => {
    const { call } = start({ loadsSlowly: true, silenceMs: 100, startMs: 20_000 });
    const began = performance.now();
    await expect(call('never', [])).rejects.toMatchObject({ hadStarted: true });
    expect(performance.now() - began).toBeGreaterThan(350);
  });

  it('says when it was never started, so that its call is not blamed', async () => {
    const { call, close } = startThread<(data: string) => Functions>({
      ...{ module: moduleOf('throw 1'), data: '', silenceMs: 20_000 },
    });
    await expect(call('noted', [])).rejects.toMatchObject({ hadStarted: false });
    await close();
  });

  it('is ended when it has nothing to do, and started anew', async () => {
    const { call } = start({ idleMs: 1 });
    const first = await call('say', ['a']);
    await expect.poll(() => call('say', ['a']), { interval: 20 }).not.toBe(first);
  });

  it('answers no more when it is closed', async () => {
    const { call, close } = start();
    const [pending] = await Promise.allSettled([call('never', []), close()]);
    expect(pending).toMatchObject({ status: 'rejected' });
    await expect(call('say', ['a'])).rejects.toBeInstanceOf(ThreadEnded);
  });
});
