import { chanceFrom } from '../../test/support/chance.ts';
import { alignTable } from '../table.ts';
import { mean } from './knee.ts';
import { parallelEngine } from './parallel-engine.ts';
import { poolApart, pool, sharedPool } from './pool-policies.ts';
import type { Load } from './request.ts';
import { type CreatePolicy, type Pool, quantile, runPool } from './run.ts';
import { quickEngine } from './scenarios.ts';
import { digestOfConversation } from './simple-policies.ts';
import { chat, createTextMaker, longTailed } from './workloads.ts';

/** An endpoint that computes a character within 20 µs, if a token has four. */
const engine = { ...quickEngine, memoryTokens: 4_000_000, prefillPerSecond: 12_500, stepMs: 10 };
/** In this time all conversations begin, ms. Their turns follow each other without a pause. */
const beginMs = 1000;
/** In the middle of the conversations. */
const lostAtMs = 1500;
const blockTokens = 64;

/** Thirty conversations of eight turns. Of all prompt tokens, 0.78 were sent before. */
export function parallelLoad(seed: number): Load {
  const chance = chanceFrom(seed);
  const maker = createTextMaker(blockTokens);
  const sessions = Array.from({ length: 30 }, (_, conversation) =>
    chat(maker, {
      ...{ system: 0, shared: [], turns: 8, conversation },
      asked: () => longTailed(chance, { mean: 1000, least: 64, most: 16_000 }, 1),
      answered: () => 24,
      pauseMs: () => 0,
    }),
  );
  const startMs = sessions.map(() => chance.next() * beginMs).toSorted((a, b) => a - b);
  return { sessions, arrivals: { kind: 'open', startMs }, blockTokens, measured: { fromMs: 0, toMs: 100_000 } };
}

export function parallelPool(slots: number, shape: Partial<Pool> = {}): Pool {
  const engines = Array.from({ length: 4 }, () => engine);
  return { engines, replicas: 1, changes: [], createEngine: parallelEngine(slots), ...shape };
}

/** Endpoints that work on many prompts at once: what was in a cache, and the 95th percentile of the first token. */
export function parallelTable(seeds: readonly number[]): string {
  const two: Partial<Pool> = { replicas: 2 };
  const lost: Partial<Pool> = { replicas: 2, changes: [{ kind: 'replica-lost', index: 1, atMs: lostAtMs }] };
  const cases: readonly (readonly [string, CreatePolicy, Partial<Pool>])[] = [
    ['digest, 1', digestOfConversation, {}],
    ['pool, 1', pool, {}],
    ['shared, 2', sharedPool, two],
    ['shared, 2, one lost', sharedPool, lost],
    ['apart, 2', poolApart, two],
    ['apart, 2, one lost', poolApart, lost],
  ];
  return alignTable([
    ['cached, and p95 ms', 'any number at once', 'four at once'],
    ...cases.map(([name, create, shape]) => [
      name,
      ...[Infinity, 4].map((slots) => {
        const runs = seeds.map((seed) => runPool(parallelLoad(seed), parallelPool(slots, shape), { create, seed }));
        const p95 = mean(runs.map(({ firstMs }) => quantile(firstMs, 0.95)));
        return `${mean(runs.map(({ cachedShare }) => cachedShare)).toFixed(2)} ${p95.toFixed(0)}`;
      }),
    ]),
  ]);
}
