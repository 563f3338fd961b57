import { readdir, readFile } from 'node:fs/promises';

/** A process as `/proc` shows it. */
export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  /** The process group. */
  readonly group: number;
  /** The program's arguments, joined by spaces. */
  readonly command: string;
}

export interface MemoryUse {
  readonly rssBytes: number;
  /** Memory shared with other processes is counted by its share. */
  readonly pssBytes: number;
}

/** `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** The process, its process group if it leads one, and all that descend from these; empty where there is no `/proc` (not Linux). */
export async function processTree(root: number): Promise<readonly ProcessInfo[]> {
  const entries = await readdir('/proc').catch(() => []);
  const all = await Promise.all(entries.filter((name) => /^\d+$/.test(name)).map((name) => readProcess(Number(name))));
  const known = all.filter((info) => info !== undefined);
  const tree = known.filter((info) => info.pid === root || info.group === root);
  // The list grows while it is walked: children of children are found too.
  for (const member of tree) tree.push(...known.filter((info) => info.parent === member.pid && !tree.includes(info)));
  return tree;
}

/** User and system time of these processes so far, all threads, in ms; undefined where it cannot be read. */
export async function cpuMs(pids: readonly number[]): Promise<number | undefined> {
  const stats = await Promise.all(pids.map((pid) => readText(`/proc/${pid}/stat`)));
  let ticks = 0;
  for (const stat of stats) {
    if (stat === undefined) return undefined;
    const fields = statFields(stat);
    // proc_pid_stat(5): utime and stime are fields 14 and 15.
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return pids.length === 0 ? undefined : (ticks * 1000) / ticksPerSecond;
}

/** Memory of these processes together; undefined where it cannot be read. */
export async function memoryOf(pids: readonly number[]): Promise<MemoryUse | undefined> {
  let rssBytes = 0;
  let pssBytes = 0;
  for (const pid of pids) {
    const rollup = await readText(`/proc/${pid}/smaps_rollup`);
    if (rollup === undefined) return undefined;
    rssBytes += Number(/^Rss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024;
    pssBytes += Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024;
  }
  return pids.length === 0 ? undefined : { rssBytes, pssBytes };
}

async function readProcess(pid: number): Promise<ProcessInfo | undefined> {
  const [stat, command] = await Promise.all([readText(`/proc/${pid}/stat`), readText(`/proc/${pid}/cmdline`)]);
  if (stat === undefined || command === undefined) return undefined;
  const [, parent, group] = statFields(stat);
  return { pid, parent: Number(parent), group: Number(group), command: command.replaceAll('\0', ' ').trim() };
}

/** The fields after the command's name, which may itself hold spaces and brackets; the first is the state. */
function statFields(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Undefined when the process is gone, or this is not Linux. */
async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

export function isEnvoy({ command }: Pick<ProcessInfo, 'command'>): boolean {
  return /(^|\/)envoy$/.test(command.split(' ')[0] ?? '');
}
