import { setTimeout as wait } from 'node:timers/promises';
import { agentScenarios, promptSizes, promptWarmUp } from './agents.ts';
import type { Bar, MemoryReading, Readings } from './bars.ts';
import { expectedOf } from './chat-request.ts';
import { holdStreams } from './held-streams.ts';
import { measureIdle } from './idle.ts';
import { failuresOf, runRounds, type RoundsOptions, warmUp } from './measure.ts';
import { type BenchPlan, held, loneStreams, oneCaller, type Scenario } from './scenarios.ts';
import { pssOfPrograms, type Target } from './target.ts';

interface BarsOptions extends Omit<RoundsOptions, 'scenarios' | 'rounds'> {
  readonly plan: BenchPlan;
  readonly chosen: readonly Bar[];
  /** Whether the scenarios of the pictures run as well. */
  readonly withPictures: boolean;
  readonly starts: Readings['starts'];
  /** Starts what is measured after the idle programs: its pages of Node's binary would make the shares of the others smaller. */
  readonly startLater: () => Promise<readonly Target[]>;
}

const settleMs = 5_000;
const openTimeoutMs = 30_000;
const openStreams = 500;

const hasMemory = (chosen: readonly Bar[], when: MemoryReading['when']): boolean =>
  chosen.some(({ source }) => source.kind === 'memory' && source.when === when);

type Phase = 'usual' | 'large' | 'exact';

/** Large prompts come after the memory of usual loads; and counting, which is loaded with the first model that needs it, after these. */
function phaseOf(scenario: Scenario): Phase {
  if (scenario.prompt?.exact === true) return 'exact';
  return agentScenarios.includes(scenario) ? 'large' : 'usual';
}

/** Memory and time of quiet programs, usual loads, what memory these leave and open streams need, then large prompts. */
export async function measureBars(options: BarsOptions) {
  const { plan, chosen, pool, report, starts } = options;
  const memory: MemoryReading[] = [];
  const read = async (target: Target, when: MemoryReading['when']): Promise<void> => {
    const pssBytes = await pssOfPrograms(target);
    if (pssBytes !== undefined) memory.push({ target: target.name, when, pssBytes });
  };
  const isIdleChosen = hasMemory(chosen, 'idle') || chosen.some(({ source }) => source.kind === 'idle-time');
  if (isIdleChosen) report('idle');
  const programs = isIdleChosen ? await measureIdle(options.targets, plan.idle) : [];
  for (const target of options.targets) await read(target, 'idle');
  const targets = [...options.targets, ...(await options.startLater())];

  const scenarios = scenariosOfBars(plan, options);
  const phase = (of: Phase): RoundsOptions => ({
    ...{ pool, targets, report, rounds: plan.rounds },
    scenarios: scenarios.filter((scenario) => phaseOf(scenario) === of),
  });
  if (scenarios.length > 0) report('warm-up');
  if (scenarios.length > 0) for (const target of targets) await warmUp(pool, target, plan);
  const samples = [...(await runRounds(phase('usual')))];
  // Memory is that of programs at rest, and rest is time passing.
  await wait(settleMs);
  const lost: Record<string, number> = {};
  for (const target of targets) {
    await read(target, 'loaded');
    if (!hasMemory(chosen, 'streams')) continue;
    report(`open streams, ${target.name}`);
    const streams = await hold(target);
    await wait(settleMs);
    await read(target, 'streams');
    if (streams.lost() > 0) lost[`${target.name}, open streams: lost`] = streams.lost();
    streams.close();
  }
  samples.push(...(await runLarge(phase('large'))), ...(await runExact(phase('exact'))));
  const readings: Readings = { samples, memory, idle: timesOf(programs), starts };
  return { readings, failures: { ...failuresOf(samples), ...lost } };
}

/** Compiles the code of large prompts, then runs their loads. */
export async function runLarge(options: RoundsOptions): ReturnType<typeof runRounds> {
  if (options.scenarios.length === 0) return [];
  await runRounds({ ...options, scenarios: [promptWarmUp], rounds: 1, report: () => {} });
  return runRounds(options);
}

/** Serves the models whose tokens are counted, then runs their loads. */
export async function runExact(options: RoundsOptions): ReturnType<typeof runRounds> {
  if (options.scenarios.length === 0) return [];
  for (const target of options.targets) await target.serveExact?.();
  return runRounds(options);
}

function hold(target: Target) {
  const [request, expected] = [target.request(held, true), expectedOf(held, true)];
  return holdStreams({
    address: target.address,
    request,
    expected,
    count: openStreams,
    spacingMs: 3,
    timeoutMs: openTimeoutMs,
  });
}

function timesOf(programs: Awaited<ReturnType<typeof measureIdle>>): Readings['idle'] {
  return [...Map.groupBy(programs, ({ target }) => target)].map(([target, own]) => ({
    target,
    msPerSecond: own.reduce((sum, one) => sum + one.msPerSecond, 0),
  }));
}

/** What leaves memory behind before streams are opened. */
const beforeStreams = ['json', 'streams', 'alone-64'];

export function scenariosOfBars(
  plan: Pick<BenchPlan, 'scenarios'>,
  { chosen, withPictures }: Pick<BarsOptions, 'chosen' | 'withPictures'>,
): readonly Scenario[] {
  const ofPictures = [...promptSizes.map((kb) => `chat-${kb}-1`), ...loneStreams.map((streams) => `alone-${streams}`)];
  const needed = chosen.flatMap(({ source }): readonly string[] => {
    if (source.kind === 'memory' && source.when === 'streams') return beforeStreams;
    if (source.kind !== 'load') return [];
    const { scenario, over } = source;
    return over !== undefined && 'scenario' in over ? [over.scenario, scenario] : [scenario];
  });
  const names = new Set([...needed, ...(withPictures ? ofPictures : [])]);
  return [...plan.scenarios, oneCaller, ...agentScenarios].filter(({ name }) => names.has(name));
}
