import { alignTable } from '../table.ts';
import { objective } from './capacity.ts';
import { mean } from './knee.ts';
import { routePolicy } from './route-policies.ts';
import { type CreatePolicy, quantile, type RunResult, runPool } from './run.ts';
import type { Scenario } from './scenarios.ts';

/** A rate that one backend of four endpoints carries. */
const shareOfNear = 0.85;

/**
 * Four endpoints as one route, and as two routes of two endpoints each: of these the score alone chooses the first one, or the endpoints
 * of both do. First tokens that are late, their 95th percentile, and the share of the prompts that was in a cache.
 */
export function routesTable(chosen: readonly Scenario[], seeds: readonly number[]): string {
  const titles = ['late, p95 ms, and cached', 'rate', 'one route', 'two, by score', 'two, by endpoints'];
  const rows = chosen.filter(({ pool }) => pool.engines.length === 4).map((scenario) => rowOf(scenario, seeds));
  return alignTable([titles, ...rows]);
}

function rowOf(scenario: Scenario, seeds: readonly number[]): readonly string[] {
  const rate = scenario.near * shareOfNear;
  const mostLate = { ms: objective.ms, share: 0.3 };
  const cell = (create: CreatePolicy): string => {
    const runs = seeds.map((seed) => runPool(scenario.load(rate, seed), scenario.pool, { create, seed, mostLate }));
    const late = ({ firstMs }: RunResult): number => firstMs.filter((ms) => ms > objective.ms).length / firstMs.length;
    const p95 = mean(runs.map(({ firstMs }) => quantile(firstMs, objective.share)));
    const cached = mean(runs.map(({ cachedShare }) => cachedShare));
    return `${(mean(runs.map(late)) * 100).toFixed(1)} % ${p95.toFixed(0)} ${cached.toFixed(2)}`;
  };
  return [
    ...[scenario.name, rate.toPrecision(3)],
    ...[routePolicy(4, 'by-score'), routePolicy(2, 'by-score'), routePolicy(2, 'by-endpoints')].map((one) => cell(one)),
  ];
}
