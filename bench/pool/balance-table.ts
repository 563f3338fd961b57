import { alignTable } from '../table.ts';
import { mean } from './knee.ts';
import { oracle, pool } from './pool-policies.ts';
import { cacheAware, stickyUntilSaturated } from './published-policies.ts';
import { type CreatePolicy, runPool } from './run.ts';
import { quickEngine, type Scenario } from './scenarios.ts';
import { digestOfConversation, leastRequests, roundRobin } from './simple-policies.ts';

/** Below saturation: an endpoint that idles while another has much to do is a mistake of the policy. */
const ofNear = 0.7;

/** The busiest endpoint's work ÷ the mean, and the share of windows in which the work was uneven while an endpoint was idle. */
export function balanceTable(chosen: readonly Scenario[], seeds: readonly number[]): string {
  const titles = ['round robin', 'least requests', 'digest', 'cache_aware', 'sticky 50k', 'pool', 'oracle'];
  return alignTable([
    ['most ÷ mean work, uneven', 'rate', ...titles],
    ...chosen.map((scenario) => {
      const rate = scenario.near * ofNear;
      const memoryTokens = scenario.pool.engines[0]?.memoryTokens ?? quickEngine.memoryTokens;
      const policies: readonly CreatePolicy[] = [
        ...[roundRobin, leastRequests, digestOfConversation, cacheAware],
        ...[stickyUntilSaturated({ gapTokens: 50_000, memoryTokens }), pool, oracle(scenario.pool.engines, 0.5)],
      ];
      const cells = policies.map((create) => {
        const runs = seeds.map((seed) => runPool(scenario.load(rate, seed), scenario.pool, { create, seed }));
        const most = mean(runs.map(({ imbalance }) => imbalance));
        return `${most.toFixed(2)} ${(mean(runs.map(({ unevenShare }) => unevenShare)) * 100).toFixed(0)} %`;
      });
      return [scenario.name, rate.toPrecision(3), ...cells];
    }),
  ]);
}
