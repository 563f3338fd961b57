import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { messageOf } from '../core/failure.ts';
import { pause, systemClock } from './clock.ts';
import { signalGroup } from './child.ts';

/** One process, told apart from a later one that was given the same pid. */
interface ProcessIdentity {
  readonly pid: number;
  /** When it began, in whatever form the system tells it. */
  readonly begun: string;
}

/** The identity of the process that has this pid now; undefined when there is none. */
function identify(pid: number): ProcessIdentity | undefined {
  const begun = process.platform === 'linux' ? begunOnLinux(pid) : begunByPs(pid);
  return begun === undefined ? undefined : { pid, begun };
}

function isAlive({ pid, begun }: ProcessIdentity): boolean {
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

/** Which processes work on a run folder, on the disk, so that the next start can end what a killed one left. */
export interface ProcessRecord {
  readonly note: (name: string, pid: number | undefined) => void;
  readonly remove: () => void;
}

const pollMs = 20;

export function keepProcessRecord(runFolder: string, report: (line: string) => void): ProcessRecord {
  const file = fileIn(runFolder);
  const known = new Map<string, ProcessIdentity>();
  const note = (name: string, pid: number | undefined): void => {
    const identity = pid === undefined ? undefined : identify(pid);
    if (identity === undefined) known.delete(name);
    else known.set(name, identity);
    try {
      writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(known)), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (error) {
      // A full disk must not keep what has died from being started again.
      report(`The pid of ${name} could not be written down: ${messageOf(error)}.`);
    }
  };
  return { note, remove: () => rmSync(file, { force: true }) };
}

/** The pid that was noted under a name, when that process still runs. */
export function notedPid(runFolder: string, name: string): number | undefined {
  const identity = read(runFolder).get(name);
  return identity !== undefined && isAlive(identity) ? identity.pid : undefined;
}

/**
 * Ends the processes noted by a supervisor that was killed. Only to be called by who holds the folder's lock.
 * They are asked first, so that the service can write down what it owes; `graceMs` later they are ended.
 */
export async function endLeftOvers(
  runFolder: string,
  options: { readonly graceMs: number; readonly report: (line: string) => void },
): Promise<void> {
  const left = [...read(runFolder)].filter(([, identity]) => isAlive(identity));
  for (const [name, { pid }] of left) {
    options.report(`Ending ${name} (pid ${pid}), left over from a start that was killed.`);
    signalGroup(pid, 'SIGTERM');
  }
  const deadline = systemClock.elapsed() + options.graceMs;
  for (const [, identity] of left) {
    while (isAlive(identity) && systemClock.elapsed() < deadline) await pause(pollMs);
    if (!isAlive(identity)) continue;
    signalGroup(identity.pid, 'SIGKILL');
    while (isAlive(identity)) await pause(pollMs);
  }
}

function fileIn(runFolder: string): string {
  return join(runFolder, 'processes.json');
}

function read(runFolder: string): ReadonlyMap<string, ProcessIdentity> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(fileIn(runFolder), 'utf8'));
  } catch {
    return new Map(); // None yet, or one that was cut off by a power failure: those processes are gone as well.
  }
  const found = new Map<string, ProcessIdentity>();
  if (typeof content !== 'object' || content === null) return found;
  for (const [name, entry] of Object.entries(content)) {
    if (isIdentity(entry)) found.set(name, entry);
  }
  return found;
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return (
    typeof value === 'object' &&
    value !== null &&
    'pid' in value &&
    typeof value.pid === 'number' &&
    'begun' in value &&
    typeof value.begun === 'string'
  );
}
