import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface GroupOptions {
  readonly command: readonly string[];
  readonly limitMs: number;
  readonly environment: NodeJS.ProcessEnv;
  /** Where its output goes; without it, to ours. */
  readonly logFile?: string;
  readonly signal: AbortSignal;
}

export interface GroupEnd {
  /** The exit code, or what ended it: a signal, `time limit`, an error of the system. */
  readonly code: number | string;
  /** Command lines of processes that it left behind. They are killed by the time this is seen. */
  readonly leftBehind: readonly string[];
}

const settleMs = 2_000;

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
  let overdue = false;
  let lastResort: NodeJS.Timeout | undefined;
  // Asked first: programs that started others in groups of their own can then end them.
  const stop = (): void => {
    endGroup(child.pid, 'SIGTERM');
    lastResort ??= setTimeout(() => endGroup(child.pid, 'SIGKILL'), settleMs);
  };
  const limit = setTimeout(() => {
    overdue = true;
    stop();
  }, options.limitMs);
  options.signal.addEventListener('abort', stop);

  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => resolve(status ?? signal ?? 'unknown'));
  });
  clearTimeout(limit);
  clearTimeout(lastResort);
  options.signal.removeEventListener('abort', stop);
  const leftBehind = await stillRunning(child.pid);
  endGroup(child.pid, 'SIGKILL');
  await stillRunning(child.pid); // A signal is on its way for a moment.
  return { code: overdue ? 'time limit' : code, leftBehind };
}

function endGroup(group: number | undefined, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (group === undefined) return;
  try {
    process.kill(-group, signal);
  } catch {
    // The group is empty: nothing to end.
  }
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
  let ids: readonly string[];
  try {
    ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return ids.flatMap((id) => {
    try {
      // After the name in parentheses: state, parent, group.
      const [state, , itsGroup] = readFileSync(`/proc/${id}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (Number(itsGroup) !== group || state === 'Z') return [];
      return [readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()];
    } catch {
      return []; // It ended while we looked.
    }
  });
}
