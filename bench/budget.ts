import { summarizeAllocations, type AllocationSummary } from './allocation-profile.ts';
import { summarizeProfile, type ProfileSummary } from './cpu-profile.ts';
import { openInspector } from './inspector.ts';
import type { LoadPool } from './load-pool.ts';
import { processTree } from './process-usage.ts';
import { runCounted } from './sample.ts';
import { shapeOf, type Scenario } from './scenarios.ts';
import type { Target, TargetName } from './target.ts';
import { threadGroups, type ThreadGroup, timesByGroup, usedBetween } from './thread-times.ts';

/** A load of which each answer, or each chunk, is given its part of the processor time. */
interface BudgetLoad {
  readonly unit: 'JSON answer' | 'stream of 100 chunks' | 'lone chunk';
  readonly callers: number;
  readonly scenario: Scenario;
}

/** What one answer or chunk took a target, by group of threads. */
export interface BudgetRow extends Pick<BudgetLoad, 'unit' | 'callers'> {
  readonly target: TargetName;
  /** Answers or chunks a second. */
  readonly perSecond: number;
  /** Processor time, microseconds. */
  readonly us: Readonly<Record<ThreadGroup, number>>;
  /** How often a thread got a processor. */
  readonly runs: Readonly<Record<ThreadGroup, number>>;
}

/** Where the time and the memory of the service's main thread go under one load. */
export interface BudgetProfile extends Pick<BudgetLoad, 'unit' | 'callers'> {
  readonly cpu: ProfileSummary;
  readonly allocations: AllocationSummary;
  /** Answers while the allocations were counted. */
  readonly answers: number;
}

export interface Budget {
  readonly rows: readonly BudgetRow[];
  readonly profiles: readonly BudgetProfile[];
  readonly failures: Readonly<Record<string, number>>;
}

const callerCounts = [1, 16, 64];
const seconds = 2.5;
const profileCallers = 16;

function loadsOf(callers: number): readonly BudgetLoad[] {
  const arrival = { kind: 'closed', connections: callers } as const;
  const common = { arrival, leadSeconds: 0.5, seconds };
  return [
    {
      unit: 'JSON answer',
      callers,
      scenario: { ...common, name: 'json', title: '', stream: false, shape: shapeOf.together },
    },
    {
      unit: 'stream of 100 chunks',
      callers,
      scenario: { ...common, name: 'streams', title: '', stream: true, shape: shapeOf.each },
    },
    {
      unit: 'lone chunk',
      callers,
      scenario: {
        ...common,
        name: `alone-${callers}`,
        title: '',
        stream: true,
        shape: shapeOf.alone,
        leadSeconds: 1.2,
      },
    },
  ];
}

/** Measures every load on one target after the other, round by round, then profiles the main thread of the last target. */
export async function measureBudget(options: {
  readonly pool: LoadPool;
  readonly targets: readonly Target[];
  readonly rounds: number;
  readonly report: (line: string) => void;
}): Promise<Budget> {
  const { pool, targets, rounds, report } = options;
  const loads = callerCounts.flatMap(loadsOf);
  const samples: BudgetRow[] = [];
  const failures: Record<string, number> = {};
  for (let round = 1; round <= rounds; round += 1) {
    report(`budget, round ${round} of ${rounds}`);
    const inOrder = round % 2 === 0 ? targets.toReversed() : targets;
    for (const load of loads) {
      for (const target of inOrder) {
        const { row, failed } = await measureLoad(pool, target, load);
        samples.push(row);
        for (const [reason, count] of Object.entries(failed)) failures[`${target.name}: ${reason}`] = count;
      }
    }
  }
  const rows = loads.flatMap(({ unit, callers }) =>
    targets.map(({ name }) =>
      medianRow(samples.filter((row) => row.unit === unit && row.callers === callers && row.target === name)),
    ),
  );
  const weir = targets.find(({ name }) => name === 'weir');
  const profiles = weir === undefined ? [] : await profileMainThread({ pool, weir, report });
  return { rows: rows.filter((row) => row !== undefined), profiles, failures };
}

async function measureLoad(pool: LoadPool, target: Target, { unit, callers, scenario }: BudgetLoad) {
  const { result, start, end } = await runCounted({ pool, target, scenario }, () => timesByGroup(target.pid ?? 0));
  // Streams that were under way at the window's edges count by their bytes.
  const answers = result.answers === 0 ? 0 : result.bodyBytes / (result.answerBytes / result.answers);
  const units = unit === 'lone chunk' ? answers * scenario.shape.chunks : answers;
  const used = usedBetween(start, end);
  const perUnit = (read: (times: { ms: number; runs: number }) => number): Record<ThreadGroup, number> => {
    const each = threadGroups.map((group) => [group, read(used.get(group) ?? { ms: 0, runs: 0 }) / units] as const);
    return Object.fromEntries(each) as Record<ThreadGroup, number>;
  };
  const row: BudgetRow = {
    ...{ unit, callers, target: target.name, perSecond: units / result.seconds },
    us: perUnit(({ ms }) => ms * 1000),
    runs: perUnit(({ runs }) => runs),
  };
  return { row, failed: result.failures };
}

/** The row with the median of all processor time together: its parts were measured at the same time, and add up. */
function medianRow(rows: readonly BudgetRow[]): BudgetRow | undefined {
  const byTime = rows.toSorted((one, other) => totalOf(one.us) - totalOf(other.us));
  return byTime[Math.floor((byTime.length - 1) / 2)];
}

export function totalOf(byGroup: Readonly<Record<ThreadGroup, number>>): number {
  return threadGroups.reduce((sum, group) => sum + byGroup[group], 0);
}

async function profileMainThread(options: {
  readonly pool: LoadPool;
  readonly weir: Target;
  readonly report: (line: string) => void;
}): Promise<readonly BudgetProfile[]> {
  const { pool, weir, report } = options;
  const service = (await processTree(weir.pid ?? 0)).find(({ command }) => /main\.ts serve( |$)/.test(command));
  if (service === undefined) return [];
  const inspector = await openInspector(service.pid);
  try {
    const profiles: BudgetProfile[] = [];
    for (const load of loadsOf(profileCallers)) {
      const { unit, callers, scenario } = load;
      report(`profile: ${unit}`);
      let answers = 0;
      const run = async (): Promise<void> => {
        const { result } = await runCounted({ pool, target: weir, scenario }, () => Promise.resolve());
        // The profile has the lead, too, in which about as many answers come in the same time.
        answers = (result.answers * (scenario.leadSeconds + result.seconds)) / result.seconds;
      };
      const cpu = summarizeProfile(await inspector.cpuProfile(run), { limit: 16 });
      const allocations = summarizeAllocations(await inspector.allocations(run));
      profiles.push({ unit, callers, cpu, allocations, answers });
    }
    return profiles;
  } finally {
    inspector.close();
  }
}
