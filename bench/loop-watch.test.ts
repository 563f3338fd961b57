import { setImmediate as turn } from 'node:timers/promises';
import { runInThisContext } from 'node:vm';
import { expect, test } from 'vitest';
import { type LoopStall, monotonicMs, watchLoop } from './loop-watch.ts';

test('a step that holds the event loop is a stall at the time of the step', async () => {
  const watch = watchLoop(5);
  try {
    const fromMs = monotonicMs();
    while (monotonicMs() < fromMs + 30);
    const toMs = monotonicMs();
    const stalls: LoopStall[] = [];
    while (stalls.length === 0) {
      await turn();
      stalls.push(...watch.take().stalls);
    }
    expect(stalls[0]?.fromMs).toBeLessThan(fromMs + 5);
    expect(stalls[0]?.toMs).toBeGreaterThan(toMs - 1);
    expect(stalls[0]?.ranMs).toBeGreaterThan(0);
  } finally {
    watch.stop();
  }
});

test('a collection of garbage has its kind and its time', async () => {
  const watch = watchLoop(5);
  try {
    const fromMs = monotonicMs();
    const kinds = new Set<string>();
    let kept: unknown[] = [];
    while (!kinds.has('minor')) {
      kept = Array.from({ length: 10_000 }, (_, index) => ({ index }));
      await turn();
      for (const collection of watch.take().collections) {
        kinds.add(collection.kind);
        expect(collection.toMs).toBeGreaterThan(fromMs);
        expect(collection.toMs).toBeLessThanOrEqual(monotonicMs());
      }
    }
    expect(kept).toHaveLength(10_000);
  } finally {
    watch.stop();
  }
});

test('the source of the watch uses nothing from outside itself', () => {
  // The inspector runs it where the names of the module do not exist.
  const watch = (runInThisContext(`(${watchLoop.toString()})`) as typeof watchLoop)(5);
  try {
    expect(watch.take()).toMatchObject({ stalls: [], collections: [] });
  } finally {
    watch.stop();
  }
});
