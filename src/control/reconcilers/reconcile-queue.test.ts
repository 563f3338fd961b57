import { expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { createReconcileQueue } from './reconcile-queue.ts';

/** A queue whose runs end when a test says so. */
function begin({ concurrency = 4, maxOfNamespace = 4 } = {}) {
  const clock = createFakeClock();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = createReconcileQueue({
    ...{ clock, concurrency, maxOfNamespace },
    namespaceOf: (id: string) => id.split('/')[0] ?? '',
    run: (id) => {
      begun.push(id);
      return new Promise((resolve) => ends.set(id, resolve));
    },
  });
  async function end(id: string): Promise<void> {
    ends.get(id)?.();
    ends.delete(id);
    clock.advance(20);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
  /** Ends the oldest runs, and returns how many had to end until an object began. */
  async function endedUntil(id: string): Promise<number> {
    let ended = 0;
    for (; !begun.includes(id); ended += 1) await end(ends.keys().next().value ?? '');
    return ended;
  }
  const close = async (): Promise<void> => {
    const closing = queue.close();
    for (const resolve of ends.values()) resolve();
    await closing;
  };
  return { clock, queue, begun, end, endedUntil, close };
}

const thousand = [...Array(1_000).keys()];

it('lets a change wait for one turn of each namespace, whatever the others have', async () => {
  const { queue, endedUntil, close } = begin();
  for (const index of thousand) queue.changed(`flood/${index}`);
  queue.changed('quiet/one');
  expect(await endedUntil('quiet/one')).toBe(2);
  await close();
});

it('twin: in the namespace of the flood itself, the same change waits for all before it', async () => {
  const { queue, endedUntil, close } = begin();
  for (const index of thousand) queue.changed(`flood/${index}`);
  queue.changed('flood/one');
  expect(await endedUntil('flood/one')).toBe(thousand.length - 3);
  await close();
});

it('leaves places for others while all reconciliations of a namespace hang', async () => {
  const { queue, begun, close } = begin({ concurrency: 4, maxOfNamespace: 2 });
  for (const index of thousand) queue.retry(`hangs/${index}`);
  queue.changed('quiet/one');
  expect(begun).toEqual(['hangs/0', 'hangs/1', 'quiet/one']);
  await close();
});

it('reconciles what has changed before what is only refreshed', async () => {
  const { queue, begun, end, close } = begin({ concurrency: 1 });
  for (const index of thousand) queue.refresh(`a/${index}`);
  queue.changed('a/500');
  await end('a/0');
  expect(begun).toEqual(['a/0', 'a/500']);
  await close();
});

it('runs an object once at a time, and once more for what came meanwhile', async () => {
  const { queue, begun, end, close } = begin();
  for (let time = 0; time < 3; time += 1) queue.retry('a/one');
  expect(begun).toEqual(['a/one']);
  await end('a/one');
  expect(begun).toEqual(['a/one', 'a/one']);
  await end('a/one');
  expect(begun).toHaveLength(2);
  await close();
});

it('leaves the process to its requests while thousands of reconciles wait for nothing', async () => {
  const clock = createFakeClock();
  let begun = 0;
  const queue = createReconcileQueue({
    ...{ clock, concurrency: 4, maxOfNamespace: 4, namespaceOf: () => 'flood' },
    run: () => {
      begun += 1;
      return Promise.resolve();
    },
  });
  for (const index of thousand) queue.retry(`flood/${index}`);
  for (let turn = 0; turn < 10_000; turn += 1) await Promise.resolve();
  expect(begun).toBe(16);
  for (let turn = 0; turn < 70; turn += 1) {
    clock.advance(20);
    for (let step = 0; step < 100; step += 1) await Promise.resolve();
  }
  expect(begun).toBe(thousand.length);
  await queue.close();
});

/** How often an object runs that is added fifty times a second for twenty seconds. */
async function runsOf(how: 'changed' | 'retry'): Promise<number> {
  const { clock, queue, begun, end, close } = begin();
  for (let time = 0; time < 1_000; time += 1) {
    queue[how]('a/flips');
    await end('a/flips');
  }
  await close();
  expect(clock.armed()).toBe(0);
  return begun.length;
}

it('holds an object that changes all the time to a pace, and never loses its last change', async () => {
  expect(await runsOf('changed')).toBeLessThanOrEqual(31);
  const { clock, queue, begun, end, close } = begin();
  for (let time = 0; time < 11; time += 1) {
    queue.changed('a/flips');
    await end('a/flips');
  }
  expect(begun).toHaveLength(10);
  clock.advance(1_000);
  expect(begun).toHaveLength(11);
  await close();
});

it('twin: without the pace it runs each time', async () => {
  expect(await runsOf('retry')).toBe(1_000);
});
