import { alignTable } from '../table.ts';
import { ablationSettings } from './ablation-settings.ts';
import { type Ablation, ablations } from './ablations.ts';
import { objective } from './capacity.ts';
import { mean } from './knee.ts';
import { quantile, type RunResult, runPool } from './run.ts';
import { type AblatedPool, poolWithout } from './without.ts';

/** By how much each figure of a setting is worse without a mechanism, %: once for each seed. */
type Losses = Map<string, number[]>;

/** A run ends at so many late first tokens, and what comes later says no more. */
const mostLate = { ms: objective.ms, share: 0.3 };
/** Where a run ended so early, the percentile is not known. It counts as this much, ms. */
const maxMs = 10_000;

const p95Of = ({ firstMs }: RunResult): number => Math.min(maxMs, quantile(firstMs, objective.share));
const lateOf = ({ firstMs }: RunResult): number => firstMs.filter((ms) => ms > objective.ms).length / firstMs.length;

/** The figures of the tables: by how much more, %. */
const figures: Readonly<Record<string, (without: RunResult, all: RunResult) => number>> = {
  p95: (without, all) => 100 * Math.log(p95Of(without) / p95Of(all)),
  late: (without, all) => 100 * (lateOf(without) - lateOf(all)),
  'not cached': (without, all) => 100 * (all.cachedShare - without.cachedShare),
  failures: (without, all) => 100 * (without.failures - all.failures),
};

/** The mechanisms of the pick and of the blocks act in every setting. */
const isEverywhere = ({ file }: Ablation): boolean => file === 'pick.ts' || file === 'held-blocks.ts';

async function lossesOf(seeds: readonly number[]): Promise<ReadonlyMap<Ablation, Losses>> {
  const found = new Map<Ablation, Losses>(ablations.map((ablation) => [ablation, new Map()]));
  const all = await poolWithout(undefined);
  const ablated = await Promise.all(ablations.map(async (one) => [one, await poolWithout(one)] as const));
  for (const seed of seeds) {
    for (const { name, at, pool, load, policy } of ablationSettings()) {
      const same = load(seed);
      const run = (pools: AblatedPool): RunResult => runPool(same, pool, { create: policy(pools), seed, mostLate });
      const reference = run(all);
      for (const [ablation, pools] of ablated) {
        if (ablation.at !== at && !isEverywhere(ablation)) continue;
        const result = run(pools);
        for (const [figure, more] of Object.entries(figures)) {
          const key = `${figure}, ${name}`;
          found.get(ablation)?.set(key, [...(found.get(ablation)?.get(key) ?? []), more(result, reference)]);
        }
      }
    }
    console.error(`seed ${seed} of ${seeds.length}`);
  }
  return found;
}

function errorOf(values: readonly number[]): number {
  const middle = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return Math.sqrt(squares / Math.max(1, values.length - 1) / values.length);
}

/** A difference is no chance from so many usual errors of its mean on: the table has some thousand of them. */
const certain = 3;

interface Cell {
  readonly figure: string;
  readonly more: number;
  readonly error: number;
}

/** What each mechanism buys: the figures that are worse, and those that are better without it, beyond chance. */
export async function ablationTable(seeds: readonly number[]): Promise<string> {
  const textOf = ({ figure, more, error }: Cell): string => `${more.toFixed(1)} ± ${error.toFixed(1)} ${figure}`;
  const firstOf = (cells: readonly Cell[]): string => (cells[0] === undefined ? '–' : textOf(cells[0]));
  return alignTable([
    ['without', 'worse, %', 'figures', 'better, %', 'figures'],
    ...[...(await lossesOf(seeds))].map(([{ name }, losses]) => {
      const cells = [...losses]
        .map(([figure, values]): Cell => ({ figure, more: mean(values), error: errorOf(values) }))
        .filter(({ more, error }) => Math.abs(more) > certain * error)
        .toSorted((a, b) => b.more - a.more);
      const worse = cells.filter(({ more }) => more > 0);
      const better = cells.filter(({ more }) => more < 0).toReversed();
      return [name, firstOf(worse), String(worse.length), firstOf(better), String(better.length)];
    }),
  ]);
}
