import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { summarizeProfile, type CpuProfile, type ProfileSummary, type Window } from './cpu-profile.ts';
import type { LoadPool } from './load-pool.ts';
import { type ProcessInfo, processTree } from './process-usage.ts';
import { takeSample, type Sample } from './sample.ts';
import type { Scenario } from './scenarios.ts';
import type { Target } from './target.ts';

/** What one thread of the service did during one load. */
export interface ThreadProfile {
  readonly pid: number;
  /** 0 is the main thread. */
  readonly thread: number;
  readonly command: string;
  readonly summary: ProfileSummary;
}

export interface ScenarioProfile {
  readonly sample: Sample;
  readonly scenario: Scenario;
  readonly threads: readonly ThreadProfile[];
}

/** One load on a target that profiles itself, and when it was counted. */
export interface ProfiledLoad {
  readonly sample: Sample;
  readonly scenario: Scenario;
  readonly window: Window;
  readonly processes: readonly ProcessInfo[];
}

/** The environment in which every Node process and thread writes a profile of its whole life into the folder, at its end. */
export function profileEnvironment(folder: string): Readonly<Record<string, string>> {
  const profiling = `--cpu-prof --cpu-prof-dir=${folder}`;
  return { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} ${profiling}`.trim() };
}

export async function runProfiledLoad(pool: LoadPool, target: Target, scenario: Scenario): Promise<ProfiledLoad> {
  const processes = await processTree(target.pid ?? 0);
  const fromUs = performance.now() * 1000 + scenario.leadSeconds * 1e6 + clockOffsetUs();
  const sample = await takeSample({ pool, target, scenario, round: 0 });
  return { sample, scenario, window: { fromUs, toUs: fromUs + scenario.seconds * 1e6 }, processes };
}

/** Profiles count in the system's monotonic clock, which `hrtime` reads; `performance.now` counts from the start of a process. */
function clockOffsetUs(): number {
  return Number(process.hrtime.bigint() / 1000n) - performance.now() * 1000;
}

/** What each thread did in the window of the load; busiest thread first. The target must have ended. */
export async function readProfiles(folder: string, load: ProfiledLoad): Promise<ScenarioProfile> {
  const threads: ThreadProfile[] = [];
  for (const name of await readdir(folder)) {
    // CPU.<date>.<time>.<process>.<thread>.<number>.cpuprofile
    const [, pid, thread] = /\.(\d+)\.(\d+)\.\d+\.cpuprofile$/.exec(name)?.map(Number) ?? [];
    const command = load.processes.find((info) => info.pid === pid)?.command;
    if (pid === undefined || thread === undefined || command === undefined) continue;
    const profile = JSON.parse(await readFile(join(folder, name), 'utf8')) as CpuProfile;
    threads.push({ pid, thread, command, summary: summarizeProfile(profile, { window: load.window }) });
  }
  const { sample, scenario } = load;
  return { sample, scenario, threads: threads.toSorted((a, b) => b.summary.busy - a.summary.busy) };
}
