import { alignTable } from '../table.ts';
import { type Capacity, capacityOf } from './capacity.ts';
import { mean } from './knee.ts';
import { oracle, pool } from './pool-policies.ts';
import { cacheAware, stickyUntilSaturated } from './published-policies.ts';
import type { CreatePolicy } from './run.ts';
import { quickEngine, type Scenario } from './scenarios.ts';
import { digestOfConversation, leastRequests, roundRobin } from './simple-policies.ts';

/** Constants of the published policy: neighbours differ by two, so that each is the best one set wrong by two. */
const gaps = [25_000, 50_000, 100_000];

/** By so many usual errors of the mean, it may be wrong in one of twenty tables: for two runs, three and so on. */
const studentErrors = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13, 2.12];
const manyErrors = 2.1;

/** The mean of a value of each run, and the half of the interval in which it lies with a probability of 95 %. */
function interval(values: readonly number[]): { readonly mean: number; readonly half: number } {
  const middle = mean(values);
  if (values.length < 2) return { mean: middle, half: Infinity };
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
  const errors = studentErrors[values.length - 2] ?? manyErrors;
  return { mean: middle, half: errors * Math.sqrt(variance / values.length) };
}

const titles = [
  ...['÷ oracle', 'round robin', 'least requests', 'digest', 'cache_aware', 'sticky, wrong', 'sticky, best', 'pool'],
  ...['oracle, a second', 'cached by pool', 'most ÷ mean work'],
];

/** The greatest rate within the objective, as a part of the oracle's at the same seed. */
export function capacityTable(chosen: readonly Scenario[], seeds: readonly number[]): string {
  return alignTable([titles, ...chosen.map((scenario) => rowOf(scenario, seeds))]);
}

function rowOf(scenario: Scenario, seeds: readonly number[]): readonly string[] {
  const of = (create: CreatePolicy): readonly (Capacity | undefined)[] =>
    seeds.map((seed) => capacityOf(scenario, create, seed));
  const ratesOf = (found: readonly (Capacity | undefined)[]): readonly number[] => found.map((one) => one?.rate ?? 0);
  const memoryTokens = scenario.pool.engines[0]?.memoryTokens ?? quickEngine.memoryTokens;
  const sticky = gaps.map((gapTokens) => ratesOf(of(stickyUntilSaturated({ gapTokens, memoryTokens }))));
  const best = greatest(sticky);
  const wrong = [sticky[best - 1], sticky[best + 1]].filter((one) => one !== undefined);
  const oracles = [0, 0.5].map((busy) => ratesOf(of(oracle(scenario.pool.engines, busy))));
  const ceiling = oracles[greatest(oracles)] ?? [];
  const mine = of(pool);
  const policies = [
    ...[roundRobin, leastRequests, digestOfConversation, cacheAware].map((create) => ratesOf(of(create))),
    ...[wrong.toSorted((a, b) => mean(a) - mean(b))[0] ?? [], sticky[best] ?? [], ratesOf(mine)],
  ];
  const results = mine.flatMap((one) => one?.result ?? []);
  return [
    scenario.name,
    ...policies.map((rates) => {
      // Where the oracle itself does not keep the objective, there is nothing to compare.
      const shares = rates.flatMap((rate, index) => {
        const most = ceiling[index] ?? 0;
        return most === 0 ? [] : [rate / most];
      });
      if (shares.length === 0) return '–';
      const { mean: middle, half } = interval(shares);
      return `${middle.toFixed(2)} ± ${half.toFixed(2)}`;
    }),
    mean(ceiling).toPrecision(3),
    ...[results.map(({ cachedShare }) => cachedShare), results.map(({ imbalance }) => imbalance)].map((of) =>
      of.length === 0 ? '–' : mean(of).toFixed(2),
    ),
  ];
}

/** The index of the list with the greatest mean. */
const greatest = (lists: readonly (readonly number[])[]): number =>
  lists.reduce((most, list, index) => (mean(list) > mean(lists[most] ?? []) ? index : most), 0);
