import { alignTable } from '../table.ts';
import { mean } from './knee.ts';
import { pool, poolApart, sharedPool } from './pool-policies.ts';
import { type CreatePolicy, type Pool, quantile, type RunResult, runPool } from './run.ts';
import { quickEngine, scenarios } from './scenarios.ts';
import { digestOfConversation } from './simple-policies.ts';

/** Conversations over several replicas, at a load near saturation. */
const rate = 6;
const lostAtMs = 40_000;

/**
 * The product as it is, and the pool: with reports between the replicas, with nothing but a common key, and with replicas that do not
 * know of each other. Cached share and time to the first token with 1, 3 and 8 replicas, and when one of three
 * is lost.
 */
export function replicaTable(seeds: readonly number[]): string {
  const chat = scenarios.find(({ name }) => name === 'chat');
  if (chat === undefined) throw new Error('there is no chat');
  const engines = Array.from({ length: 4 }, () => quickEngine);
  const cases: readonly (readonly [string, Pool])[] = [
    ...[1, 3, 8].map((replicas) => [String(replicas), { engines, replicas, changes: [] }] as const),
    ['3, one lost', { engines, replicas: 3, changes: [{ kind: 'replica-lost', index: 1, atMs: lostAtMs }] }],
  ];
  const policies: readonly (readonly [string, CreatePolicy])[] = [
    ['digest', digestOfConversation],
    ['shared', sharedPool],
    ['apart', poolApart],
    ['unaware', pool],
  ];
  return alignTable([
    ['replicas', ...policies.flatMap(([name]) => [`${name}: cached`, 'first token p95, ms'])],
    ...cases.map(([name, shape]) => [
      name,
      ...policies.flatMap(([, create]) => {
        const runs = seeds.map((seed): RunResult => runPool(chat.load(rate, seed), shape, { create, seed }));
        return [
          mean(runs.map(({ cachedShare }) => cachedShare)).toFixed(2),
          mean(runs.map(({ firstMs }) => quantile(firstMs, 0.95))).toFixed(0),
        ];
      }),
    ]),
  ]);
}
