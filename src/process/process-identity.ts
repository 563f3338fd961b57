import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** One process, told apart from a later one that was given the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it began, in whatever form the system tells it. */
  readonly begun: string;
}

/** The identity of the process that has this pid now; undefined when there is none. */
export function identify(pid: number): ProcessIdentity | undefined {
  const begun = process.platform === 'linux' ? begunOnLinux(pid) : begunByPs(pid);
  return begun === undefined ? undefined : { pid, begun };
}

export function isAlive({ pid, begun }: ProcessIdentity): boolean {
  return identify(pid)?.begun === begun;
}

/** Field 22 of /proc/PID/stat (proc(5)). The name in field 2 may hold spaces and brackets, so count from its end. */
function begunOnLinux(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  // A zombie has ended; only its parent has not asked yet.
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

function begunByPs(pid: number): string | undefined {
  const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
