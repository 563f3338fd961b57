import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** When a group is ended. A slow machine takes long, and it makes progress all the while: time alone ends nothing that works. */
export interface Limits {
  /** Without output and without processor time of the group for so long, it hangs. */
  readonly idleMs: number;
  /** It is ended after so long even while it is busy. */
  readonly maxMs: number;
}

export interface GroupOptions {
  readonly command: readonly string[];
  readonly limits: Limits;
  readonly environment: NodeJS.ProcessEnv;
  /** Where its output goes; without it, to ours. */
  readonly logFile?: string;
  readonly signal: AbortSignal;
}

export interface GroupEnd {
  /** The exit code, or what ended it: a signal, `no progress`, `time limit`, an error of the system. */
  readonly code: number | string;
  /** Command lines of processes that it left behind. They are killed by the time this is seen. */
  readonly leftBehind: readonly string[];
}

const settleMs = 2_000;
/** How often a group is looked at: a hundred times in the time without progress that ends it. */
const looksPerLimit = 100;
/** Processor time since the last progress, as a share of the time, that is not progress: polling costs some. */
const idleShare = 0.01;
const msPerTick = 10;

/**
 * Runs a command as a process group of its own and ends the whole group with it: after a crash or a time limit no
 * child is left to disturb the next step. Never rejects.
 */
export async function runGroup(options: GroupOptions): Promise<GroupEnd> {
  const [program = '', ...parameters] = options.command;
  const log = options.logFile === undefined ? undefined : openSync(options.logFile, 'w');
  const child = spawn(program, parameters, {
    detached: true,
    env: options.environment,
    stdio: ['ignore', log ?? 'inherit', log ?? 'inherit'],
  });
  if (log !== undefined) closeSync(log);
  let ended: 'no progress' | 'time limit' | undefined;
  let lastResort: NodeJS.Timeout | undefined;
  // Asked first: programs that started others in groups of their own can then end them.
  const stop = (): void => {
    endGroup(child.pid, 'SIGTERM');
    lastResort ??= setTimeout(() => endGroup(child.pid, 'SIGKILL'), settleMs);
  };
  const { idleMs, maxMs } = options.limits;
  const begunAt = performance.now();
  let progressAt = begunAt;
  let before = progressOf(child.pid, options.logFile);
  const limit = setInterval(() => {
    const now = performance.now();
    const seen = progressOf(child.pid, options.logFile);
    const busyMs = Math.abs(seen.ticks - before.ticks) * msPerTick;
    if (seen.bytes !== before.bytes || busyMs > (now - progressAt) * idleShare) [progressAt, before] = [now, seen];
    if (now - progressAt >= idleMs) ended ??= 'no progress';
    else if (now - begunAt >= maxMs) ended ??= 'time limit';
    if (ended !== undefined) stop();
  }, idleMs / looksPerLimit);
  options.signal.addEventListener('abort', stop);

  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => resolve(status ?? signal ?? 'unknown'));
  });
  clearInterval(limit);
  clearTimeout(lastResort);
  options.signal.removeEventListener('abort', stop);
  const leftBehind = await stillRunning(child.pid);
  endGroup(child.pid, 'SIGKILL');
  await stillRunning(child.pid); // A signal is on its way for a moment.
  return { code: ended ?? code, leftBehind };
}

function endGroup(group: number | undefined, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (group === undefined) return;
  try {
    process.kill(-group, signal);
  } catch {
    // The group is empty: nothing to end.
  }
}

/** How far a group is: the processor time of its members and of their children that have ended, and the bytes of its log. */
function progressOf(
  group: number | undefined,
  logFile: string | undefined,
): { readonly ticks: number; readonly bytes: number } {
  const ticks = statsOf(group).reduce(
    (sum, { fields }) => sum + fields.slice(11, 15).reduce((all, one) => all + Number(one), 0),
    0,
  );
  return { ticks, bytes: logFile === undefined ? 0 : (statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) };
}

/** The members of a group, after a moment in which those that are about to end may do so. */
async function stillRunning(group: number | undefined): Promise<readonly string[]> {
  if (group === undefined) return [];
  const until = performance.now() + settleMs;
  for (;;) {
    const members = membersOf(group);
    if (members.length === 0 || performance.now() > until) return members;
    await sleep(50);
  }
}

/** Command lines of the living members of a process group; empty where there is no /proc. */
function membersOf(group: number): readonly string[] {
  return statsOf(group).flatMap(({ id }) => {
    try {
      return [readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()];
    } catch {
      return []; // It ended while we looked.
    }
  });
}

interface ProcessStat {
  readonly id: string;
  /** proc_pid_stat(5), from the state on. */
  readonly fields: readonly string[];
}

/** The living members of a process group; none where there is no /proc. */
function statsOf(group: number | undefined): readonly ProcessStat[] {
  let ids: readonly string[];
  try {
    ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return ids.flatMap((id) => {
    try {
      // After the name in parentheses: state, parent, group.
      const fields = readFileSync(`/proc/${id}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      return Number(fields[2]) === group && fields[0] !== 'Z' ? [{ id, fields }] : [];
    } catch {
      return []; // It ended while we looked.
    }
  });
}
