import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { alignTable } from '../table.ts';
import { ablationTable } from './ablation-table.ts';
import { balanceTable } from './balance-table.ts';
import { objective } from './capacity.ts';
import { capacityTable } from './capacity-table.ts';
import { costTable } from './cost.ts';
import { mean, publishedKnees } from './knee.ts';
import { pastTable } from './past.ts';
import { loadLines, loadTable } from './load-table.ts';
import { parallelTable } from './parallel-table.ts';
import { oracle, pool } from './pool-policies.ts';
import { cacheAware, stickyUntilSaturated } from './published-policies.ts';
import { replicaTable } from './replicas.ts';
import { routesTable } from './routes.ts';
import { type CreatePolicy, type RunResult, runPool } from './run.ts';
import { scalingTable } from './scaling-table.ts';
import { quickEngine, type Scenario, scenarios } from './scenarios.ts';
import { digestOfConversation, leastRequests, roundRobin } from './simple-policies.ts';

const usage = `npm run pool -- [options]

Simulates pools of engines in virtual time, and compares the ways to pick the endpoint of a request.
The same seeds give the same figures. docs/lab/pool.md describes them.

  --seeds N         so many runs of each (default: 2)
  --scenario NAME   only this one; may be repeated
  --table NAME      only this table: knees, near, load, capacity, balance, replicas, parallel, past,
                    routes, scaling or cost
  --ablate          compares the pool with itself without each of its mechanisms; takes half an hour for 20 seeds
  --lines FILE      writes the table load as lines, as docs/pictures/pool-load.lines.json
  --help`;

function kneeTable(): string {
  return alignTable([
    ['knee', 'policy', 'published', 'here', 'input tokens/s, published', 'here'],
    ...publishedKnees().map((knee) => [
      ...[knee.workload, knee.policy, String(knee.published), knee.found.toFixed(1)],
      ...[String(knee.publishedInput), knee.inputPerSecond.toFixed(0)],
    ]),
  ]);
}

/** Near saturation: the share of first tokens that come too late, and what was in a cache. */
interface Near {
  readonly late: number;
  readonly cachedShare: number;
}

function nearOf(scenario: Scenario, create: CreatePolicy, seeds: readonly number[]): Near {
  const runs = seeds.map((seed) =>
    runPool(scenario.load(scenario.near, seed), scenario.pool, { create, seed, mostLate: stopAt }),
  );
  const lateOf = ({ firstMs }: RunResult): number => firstMs.filter((ms) => ms > objective.ms).length / firstMs.length;
  return { late: mean(runs.map(lateOf)), cachedShare: mean(runs.map(({ cachedShare }) => cachedShare)) };
}

function nearRow(scenario: Scenario, seeds: readonly number[]): readonly string[] {
  const memoryTokens = scenario.pool.engines[0]?.memoryTokens ?? quickEngine.memoryTokens;
  const policies = [
    ...[roundRobin, leastRequests, digestOfConversation, cacheAware],
    ...[25_000, 50_000, 100_000].map((gapTokens) => stickyUntilSaturated({ gapTokens, memoryTokens })),
    pool,
  ];
  const oracles = [0, 0.5].map((busy) => nearOf(scenario, oracle(scenario.pool.engines, busy), seeds));
  const best = oracles.toSorted((a, b) => a.late - b.late).slice(0, 1);
  const all = [...policies.map((create) => nearOf(scenario, create, seeds)), ...best];
  const cells = all.map(({ late, cachedShare }) => `${(late * 100).toFixed(0)} % ${cachedShare.toFixed(2)}`);
  return [scenario.name, String(scenario.near), ...cells];
}

/** A run that has so many late first tokens is lost, and what comes later says no more. */
const stopAt = { ms: objective.ms, share: 0.3 };

const nearTitles = [
  ...['late, and cached', 'rate', 'round robin', 'least requests', 'digest', 'cache_aware'],
  ...['sticky 25k', 'sticky 50k', 'sticky 100k', 'pool', 'oracle'],
];

function loadOf(
  chosen: readonly Scenario[],
  { seeds, file }: { readonly seeds: readonly number[]; readonly file: string | undefined },
): string {
  const pictures = chosen.map((scenario) => loadLines(scenario, seeds));
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(pictures[0], undefined, 2)}\n`);
  return pictures.map(loadTable).join('\n\n');
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2' },
      scenario: { type: 'string', multiple: true },
      table: { type: 'string' },
      lines: { type: 'string' },
      ablate: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return;
  }
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
  if (values.ablate) {
    console.log(await ablationTable(seeds));
    return;
  }
  const chosen = scenarios.filter(({ name }) => values.scenario?.includes(name) ?? true);
  const tables: Readonly<Record<string, () => string>> = {
    knees: kneeTable,
    near: () => alignTable([nearTitles, ...chosen.map((scenario) => nearRow(scenario, seeds))]),
    load: () => loadOf(chosen, { seeds, file: values.lines }),
    capacity: () => capacityTable(chosen, seeds),
    balance: () => balanceTable(chosen, seeds),
    replicas: () => replicaTable(seeds),
    parallel: () => parallelTable(seeds),
    past: () => pastTable(chosen, seeds),
    routes: () => routesTable(chosen, seeds),
    scaling: () => scalingTable(seeds),
    cost: costTable,
  };
  for (const [name, print] of Object.entries(tables))
    if (values.table === undefined || values.table === name) console.log(`${print()}\n`);
}

await main();
