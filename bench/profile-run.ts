import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { summarizeProfile, type CpuProfile, type ProfileSummary } from './cpu-profile.ts';
import { takeSample, type Sample } from './sample.ts';
import type { LoadPool } from './load-pool.ts';
import type { Scenario } from './scenarios.ts';
import type { Target } from './target.ts';
import { processTree } from './process-usage.ts';

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

interface ProfileOptions {
  readonly pool: LoadPool;
  readonly target: Target;
  readonly scenario: Scenario;
  /** Where the preloaded profiler of each process puts its files. */
  readonly folder: string;
}

const fileTimeoutMs = 15_000;

/** The environment that makes a service profile itself when told to. */
export function profileEnvironment(folder: string): Readonly<Record<string, string>> {
  const preload = new URL('./profile-preload.ts', import.meta.url).href;
  return {
    NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${preload}`.trim(),
    BENCH_PROFILE_FOLDER: folder,
  };
}

/** Runs one load with the profiler on in every Node thread of the target; busiest thread first. */
export async function profileScenario({ pool, target, scenario, folder }: ProfileOptions): Promise<ScenarioProfile> {
  const tree = await processTree(target.pid ?? 0);
  const listening = await threadsWith(folder, 'ready');
  const pids = tree.map((info) => info.pid).filter((pid) => listening.some((thread) => thread.pid === pid));
  if (pids.length === 0) throw new Error('no process of the service listens for the profiler');
  const signal = (): void => {
    for (const pid of pids) process.kill(pid, 'SIGUSR2');
  };
  // A thread may end meanwhile, as those do that are only needed now and then.
  const expected = async (): Promise<number> =>
    (await threadsWith(folder, 'ready')).filter((thread) => pids.includes(thread.pid)).length;
  signal();
  await filesAppear(folder, 'started', expected);
  const sample = await takeSample({ pool, target, scenario, round: 0 });
  signal();
  const profiled = await filesAppear(folder, 'cpuprofile', expected);
  const threads = await Promise.all(
    profiled.map(async ({ pid, thread }) => {
      const profile = JSON.parse(await readFile(join(folder, `${pid}-${thread}.cpuprofile`), 'utf8')) as CpuProfile;
      const command = tree.find((info) => info.pid === pid)?.command ?? '';
      return { pid, thread, command, summary: summarizeProfile(profile) };
    }),
  );
  for (const { pid, thread } of profiled) {
    await rm(join(folder, `${pid}-${thread}.cpuprofile`));
    await rm(join(folder, `${pid}-${thread}.started`), { force: true });
  }
  return { sample, scenario, threads: threads.toSorted((a, b) => b.summary.busy - a.summary.busy) };
}

interface Thread {
  readonly pid: number;
  readonly thread: number;
}

async function threadsWith(folder: string, extension: string): Promise<readonly Thread[]> {
  const names = await readdir(folder).catch(() => []);
  return names.flatMap((name) => {
    const match = new RegExp(`^(\\d+)-(\\d+)\\.${extension}$`).exec(name);
    return match ? [{ pid: Number(match[1]), thread: Number(match[2]) }] : [];
  });
}

async function filesAppear(
  folder: string,
  extension: string,
  expected: () => Promise<number>,
): Promise<readonly Thread[]> {
  const deadline = performance.now() + fileTimeoutMs;
  for (;;) {
    const found = await threadsWith(folder, extension);
    const count = await expected();
    if (found.length >= count) return found;
    if (performance.now() > deadline)
      throw new Error(`${found.length} of ${count} threads answered the profiler's signal`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
