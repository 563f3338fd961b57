import { alignTable } from '../table.ts';
import type { LinePicture } from '../line-picture.ts';
import { mean } from './knee.ts';
import { oracle, pool } from './pool-policies.ts';
import { cacheAware, stickyUntilSaturated } from './published-policies.ts';
import { type CreatePolicy, quantile, runPool } from './run.ts';
import { quickEngine, type Scenario } from './scenarios.ts';
import { digestOfConversation, leastRequests, roundRobin } from './simple-policies.ts';

/** Parts of the rate near saturation. */
const parts = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2];

/** Beyond it, a pool has fallen behind, and the time depends on the length of the run, ms. A run with so many late ones ends. */
const maxMs = 5000;
const stopAt = { ms: maxMs, share: 0.3 };

/** The 95th percentile of the first token by the load, a line for each policy. */
export function loadLines(scenario: Scenario, seeds: readonly number[]): LinePicture {
  const memoryTokens = scenario.pool.engines[0]?.memoryTokens ?? quickEngine.memoryTokens;
  const policies: readonly (readonly [string, CreatePolicy])[] = [
    ['round robin', roundRobin],
    ['least requests', leastRequests],
    ['digest', digestOfConversation],
    ['cache_aware', cacheAware],
    ['sticky 50k', stickyUntilSaturated({ gapTokens: 50_000, memoryTokens })],
    ['pool', pool],
    ['oracle', oracle(scenario.pool.engines, 0.5)],
  ];
  return {
    title: `First token, 95th percentile: ${scenario.name}`,
    ...{ x: 'sessions a second', y: 'ms', most: maxMs },
    lines: policies.map(([name, create]) => ({
      name,
      points: parts.map((part): [number, number] => {
        const rate = scenario.near * part;
        const p95 = seeds.map((seed) => {
          const { firstMs } = runPool(scenario.load(rate, seed), scenario.pool, { create, seed, mostLate: stopAt });
          return Math.min(quantile(firstMs, 0.95), 2 * maxMs);
        });
        return [Number(rate.toPrecision(3)), Math.round(mean(p95))];
      }),
    })),
  };
}

export function loadTable({ title, x, lines }: LinePicture): string {
  return alignTable([
    [`${title}, ms, at ${x}`, ...(lines[0]?.points ?? []).map(([rate]) => String(rate))],
    ...lines.map(({ name, points }) => [name, ...points.map(([, ms]) => String(ms))]),
  ]);
}
