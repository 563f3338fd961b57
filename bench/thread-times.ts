import { readdir, readFile } from 'node:fs/promises';
import { isEnvoy, processTree, type ProcessInfo } from './process-usage.ts';

/** The threads of a target, sorted by what they do. */
export const threadGroups = [
  'service main',
  'service V8',
  'service store',
  'service other',
  'Envoy workers',
  'Envoy other',
  'other processes',
] as const;
export type ThreadGroup = (typeof threadGroups)[number];

/** What threads have used so far. */
export interface ThreadTimes {
  /** Processor time, milliseconds. */
  readonly ms: number;
  /** How often a thread got a processor. Without competition for the cores, these are wake-ups. */
  readonly runs: number;
}

export type TimesByGroup = ReadonlyMap<ThreadGroup, ThreadTimes>;

/** The times of a target's threads so far. Empty where there is no `/proc` (not Linux). */
export async function timesByGroup(root: number): Promise<TimesByGroup> {
  const times = new Map<ThreadGroup, ThreadTimes>();
  for (const process of await processTree(root)) {
    for (const thread of await threadsOf(process.pid)) {
      const group = groupOf(process, thread.name);
      const { ms, runs } = times.get(group) ?? { ms: 0, runs: 0 };
      times.set(group, { ms: ms + thread.ms, runs: runs + thread.runs });
    }
  }
  return times;
}

async function threadsOf(pid: number): Promise<readonly (ThreadTimes & { readonly name: string })[]> {
  const folder = `/proc/${pid}/task`;
  const ids = await readdir(folder).catch(() => []);
  const threads = await Promise.all(
    ids.map(async (id) => {
      // A thread may end before it is read.
      const read = (file: string): Promise<string> => readFile(`${folder}/${id}/${file}`, 'utf8').catch(() => '');
      const [name, statistics] = await Promise.all([read('comm'), read('schedstat')]);
      // Nanoseconds on a processor, nanoseconds of waiting for one, and the number of times that it got one.
      const [ran = 0, , runs = 0] = statistics.split(' ').map(Number);
      return { name: name.trim(), ms: ran / 1e6, runs };
    }),
  );
  return threads;
}

/** Node names its threads, the service names its own, and Envoy calls its workers `wrk:worker_N`. */
export function groupOf(process: Pick<ProcessInfo, 'command'>, thread: string): ThreadGroup {
  if (isEnvoy(process)) return thread.startsWith('wrk:') ? 'Envoy workers' : 'Envoy other';
  if (!/(main\.ts serve|bare-path-process\.ts)( |$)/.test(process.command)) return 'other processes';
  if (thread === 'node-MainThread') return 'service main';
  if (thread === 'weir-store') return 'service store';
  return /^node-V8Worker|^DelayedTaskSche/.test(thread) ? 'service V8' : 'service other';
}

/** What was used between two readings. */
export function usedBetween(from: TimesByGroup, to: TimesByGroup): TimesByGroup {
  return new Map(
    [...to].map(([group, { ms, runs }]) => {
      const before = from.get(group) ?? { ms: 0, runs: 0 };
      return [group, { ms: ms - before.ms, runs: runs - before.runs }];
    }),
  );
}
