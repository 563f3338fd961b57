import { comparisonsOf, type Comparison } from './changes.ts';
import { costsOf, figuresOf, type Cost, type Figure } from './figures.ts';
import type { LoadPool } from './load-pool.ts';
import { measureMemory, type MemoryFigures } from './memory.ts';
import { takeSample, type Sample } from './sample.ts';
import type { BenchPlan, Scenario } from './scenarios.ts';
import type { Target } from './target.ts';

export interface Measurement {
  readonly samples: readonly Sample[];
  readonly figures: readonly Figure[];
  readonly costs: readonly Cost[];
  readonly memory: readonly MemoryFigures[];
  /** This checkout beside another one, and with tracing beside itself without; empty when there is no other. */
  readonly comparisons: readonly Comparison[];
  /** Wrong or missing answers by target and reason; a run with any is no measurement. */
  readonly failures: Readonly<Record<string, number>>;
}

interface MeasureOptions {
  readonly plan: BenchPlan;
  readonly pool: LoadPool;
  /** Straight to the mock engine: shows that neither it nor the load is what limits the others. */
  readonly direct: Target;
  readonly targets: readonly Target[];
  readonly report: (line: string) => void;
}

export interface RoundsOptions {
  readonly pool: LoadPool;
  readonly targets: readonly Target[];
  readonly scenarios: readonly Scenario[];
  readonly rounds: number;
  readonly report: (line: string) => void;
}

/**
 * In each round every scenario runs on one target right after the other, so that a comparison is between neighbours in time
 * and a slow minute of the machine hits both. Every other round takes the targets in the opposite order, so that none always
 * comes after the same neighbour.
 */
export async function runRounds(options: RoundsOptions): Promise<readonly Sample[]> {
  const { pool, targets, scenarios, rounds, report } = options;
  const samples: Sample[] = [];
  if (scenarios.length === 0) return samples;
  for (let round = 1; round <= rounds; round += 1) {
    report(`round ${round} of ${rounds}`);
    const inOrder = round % 2 === 0 ? targets.toReversed() : targets;
    for (const scenario of scenarios) {
      for (const target of inOrder.filter((one) => takes(one, scenario)))
        samples.push(await takeSample({ pool, target, scenario, round }));
    }
  }
  return samples;
}

/** Other gateways serve one surface, and only Weir counts. */
export function takes({ name }: Pick<Target, 'name'>, { prompt }: Pick<Scenario, 'prompt'>): boolean {
  if (prompt?.exact === true) return name !== 'plain' && name !== 'peer';
  return name !== 'peer' || prompt === undefined || prompt.surface === 'chat';
}

/** Memory first, on processes that have done nothing yet; then the rounds. */
export async function measure({ plan, pool, direct, targets, report }: MeasureOptions): Promise<Measurement> {
  const memory: MemoryFigures[] = [];
  for (const target of targets) {
    report(`memory of ${target.name}`);
    memory.push(await measureMemory(target, plan.heldStreams));
  }
  report('warm-up');
  for (const target of targets) await warmUp(pool, target, plan);

  const samples: Sample[] = [];
  const ceilings = plan.scenarios.filter(
    (scenario) => scenario.arrival.kind === 'closed' && scenario.shape.pace.kind !== 'apart',
  );
  for (const scenario of ceilings) {
    samples.push(await takeSample({ pool, target: direct, scenario: { ...scenario, seconds: 1 }, round: 0 }));
  }
  samples.push(...(await runRounds({ pool, targets, scenarios: plan.scenarios, rounds: plan.rounds, report })));
  return {
    samples,
    figures: figuresOf(samples),
    costs: costsOf(samples),
    memory,
    comparisons: comparisonsOf(samples),
    failures: failuresOf(samples, memory),
  };
}

/** Lets the compilers and the connection pools settle before anything counts. */
export async function warmUp(pool: LoadPool, target: Target, plan: BenchPlan): Promise<void> {
  const loads: readonly Scenario['name'][] = ['json', 'streams', 'one-write', 'ten-writes'];
  for (const scenario of plan.scenarios) {
    if (!loads.includes(scenario.name)) continue;
    await takeSample({
      pool,
      target,
      scenario: { ...scenario, leadSeconds: 0.1, seconds: plan.warmUpSeconds },
      round: 0,
    });
  }
}

export function failuresOf(
  samples: readonly Sample[],
  memory: readonly MemoryFigures[] = [],
): Readonly<Record<string, number>> {
  const failures: Record<string, number> = {};
  const add = (reason: string, count: number): void => {
    if (count > 0) failures[reason] = (failures[reason] ?? 0) + count;
  };
  for (const sample of samples) {
    for (const [reason, count] of Object.entries(sample.failures))
      add(`${sample.target}, ${sample.scenario}: ${reason}`, count);
    if (sample.answers === 0 && sample.refusedPerSecond === 0)
      add(`${sample.target}, ${sample.scenario}: no answer at all`, 1);
  }
  for (const figures of memory) add(`${figures.target}, held streams: lost`, figures.lost);
  return failures;
}
