import { describe, expect, it } from 'vitest';
import { createBlockStore } from './block-store.ts';
import type { EngineSpeed } from './engine.ts';
import { parallelEngine } from './parallel-engine.ts';
import type { Load } from './request.ts';
import { runPool } from './run.ts';
import { leastRequests, roundRobin } from './simple-policies.ts';
import { alone, createTextMaker } from './workloads.ts';

const blockTokens = 100;
const speed: EngineSpeed = {
  ...{ memoryTokens: 10_000, chunkTokens: 1000, prefillPerSecond: 10_000, contextTokens: Infinity },
  ...{ stepMs: 10, answerMs: 0, readMs: 0, mostAnswers: 8 },
};

describe('the memory of an engine', () => {
  it('keeps what a prompt has left, and evicts the end of the oldest prompt first', () => {
    const store = createBlockStore(5);
    const first = store.reserve([1, 2, 3], 0);
    first?.computed(3);
    first?.release();
    expect(store.held([1, 2, 3, 4])).toBe(3);
    const second = store.reserve([7, 8, 9], 0);
    second?.computed(3);
    expect(store.held([1, 2, 3])).toBe(2);
    expect(store.reserve([1, 2, 3, 4], 2)).toBeUndefined();
    second?.release();
    expect(store.reserve([1, 2, 3, 4], 2)).toBeDefined();
  });

  it('holds a block once for all that use it, and not before it is computed', () => {
    const store = createBlockStore(4);
    const first = store.reserve([1, 2, 3], 0);
    expect(store.held([1, 2, 3])).toBe(0);
    first?.computed(2);
    expect(store.held([1, 2, 3])).toBe(2);
    const second = store.reserve([1, 2, 5], 2);
    expect(second).toBeDefined();
    expect(store.reserve([6], 0)).toBeUndefined();
  });
});

/** Requests at these times, with these prompts after a common beginning. */
function loadOf(
  requests: readonly { readonly at: number; readonly prompt: number; readonly output: number }[],
  shared = 0,
): Load {
  const maker = createTextMaker(blockTokens);
  const beginning = maker.text().blocks(shared);
  return {
    sessions: requests.map(({ prompt, output }, index) =>
      alone(maker.request(maker.text(beginning), { prompt, output }, index)),
    ),
    arrivals: { kind: 'open', startMs: requests.map(({ at }) => at) },
    blockTokens,
    measured: { fromMs: 0, toMs: 1e9 },
  };
}
const pool = { engines: [speed], replicas: 1, changes: [] };
const run = (load: Load) => runPool(load, pool, { create: roundRobin, seed: 1 });

describe('an engine', () => {
  it('computes a prompt in chunks, and then an answer token by token', () => {
    const { firstMs, outputPerSecond } = run(loadOf([{ at: 0, prompt: 2500, output: 11 }]));
    // Chunks of 1000, 1000 and 500 tokens, and ten steps.
    expect(firstMs).toEqual([250]);
    expect(outputPerSecond).toBeCloseTo(11 / 0.35);
  });

  it('computes a beginning that it holds no second time', () => {
    const { firstMs, cachedShare } = run(
      loadOf(
        [
          { at: 0, prompt: 2000, output: 1 },
          { at: 1000, prompt: 2000, output: 1 },
        ],
        1500,
      ),
    );
    expect(firstMs).toEqual([50, 200]);
    expect(cachedShare).toBeCloseTo(1500 / 4000);
  });

  it('makes answers wait for the chunks of prompts', () => {
    const alone_ = run(loadOf([{ at: 0, prompt: 100, output: 101 }]));
    const beside = run(
      loadOf([
        { at: 0, prompt: 100, output: 101 },
        { at: 200, prompt: 5000, output: 1 },
      ]),
    );
    expect(alone_.outputPerSecond).toBeCloseTo(101 / 1.01, 0);
    expect(beside.outputPerSecond).toBeCloseTo(102 / 1.46, 0);
  });

  it('lets a prompt wait until there is memory for it', () => {
    const { firstMs } = run(
      loadOf([
        { at: 0, prompt: 5000, output: 1000 },
        { at: 0, prompt: 5000, output: 1 },
      ]),
    );
    expect(firstMs[0]).toBe(500);
    expect(firstMs[1]).toBeGreaterThan(10_000);
  });
});

describe('a run', () => {
  const many = loadOf(
    Array.from({ length: 200 }, (_, index) => ({ at: index * 20, prompt: 500 + (index % 7) * 300, output: 20 })),
    300,
  );
  const two = { ...pool, engines: [speed, speed] };

  it('has the same result with the same seed', () => {
    const results = [1, 1, 2].map((seed) => runPool(many, two, { create: leastRequests, seed }));
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).not.toEqual(results[0]);
  });

  it('sends what a lost endpoint had to another one, and uses an added one', () => {
    const lost = runPool(
      many,
      { ...two, changes: [{ kind: 'lost', index: 0, atMs: 1000 }] },
      { create: leastRequests, seed: 1 },
    );
    expect(lost.firstMs).toHaveLength(200);
    expect(lost.firstMs.at(-1)).toBeLessThan(Infinity);
    const added = runPool(
      many,
      { ...two, changes: [{ kind: 'added', index: 1, atMs: 1000 }] },
      { create: leastRequests, seed: 1 },
    );
    const single = runPool(many, pool, { create: leastRequests, seed: 1 });
    expect(added.firstMs.at(-1)).toBeLessThan(single.firstMs.at(-1) ?? 0);
  });
});

describe('an endpoint that works on prompts at once', () => {
  const atOnce = (slots: number) =>
    runPool(
      loadOf([0, 1, 2, 3, 4].map((at) => ({ at, prompt: 1000, output: 1 }))),
      { ...pool, createEngine: parallelEngine(slots) },
      { create: roundRobin, seed: 1 },
    ).firstMs;

  it('computes each as if it were alone', () => {
    expect(atOnce(Infinity)).toEqual([110, 110, 110, 110, 110]);
  });

  it('lets those wait for which it has no place', () => {
    expect(atOnce(4)).toEqual([110, 110, 110, 110, 216]);
  });

  it('finds what an earlier prompt has left', () => {
    const load = loadOf(
      [0, 200].map((at) => ({ at, prompt: 1000, output: 1 })),
      500,
    );
    const { firstMs } = runPool(load, { ...pool, createEngine: parallelEngine(1) }, { create: roundRobin, seed: 1 });
    expect(firstMs).toEqual([60, 110]);
  });
});
