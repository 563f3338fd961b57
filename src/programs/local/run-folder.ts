import { hash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { messageOf } from '../../core/failure.ts';
import { maxSecretBytes, readBoundedFileSync } from '../../process/bounded-file.ts';
import { pause, systemClock } from '../../process/clock.ts';
import { signalGroup } from './child.ts';

/** `sun_path` of unix(7) is 108 bytes, the last one a zero. */
const maxSocketPathLength = 107;
/** The longest name that a socket in the folder may get, with room for several service processes. */
const longestSocketName = '/extproc-00.sock';

/**
 * Makes the folder for sockets and returns its path: `<data>/run`, or a folder of its own under the system's temporary folder
 * when a socket's path would become too long for the kernel. The same data folder always gets the same run folder. Only its
 * owner may enter: Envoy's admin socket asks for no password.
 * Throws when the folder belongs to someone else.
 */
export function makeRunFolder(dataFolder: string): string {
  const inside = join(realpathSync(dataFolder), 'run');
  if (Buffer.byteLength(inside + longestSocketName) <= maxSocketPathLength) {
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    chmodSync(inside, 0o700);
    return inside;
  }
  const digest = hash('sha256', realpathSync(dataFolder)).slice(0, 16);
  const outside = join(tmpdir(), `weir-${digest}`);
  mkdirSync(outside, { recursive: true, mode: 0o700 });
  // Any user may write to the temporary folder and could have made this one before.
  const { uid } = lstatSync(outside);
  if (!lstatSync(outside).isDirectory() || uid !== userInfo().uid) {
    throw new Error(`${outside} belongs to someone else; remove it, or choose another folder with --data.`);
  }
  chmodSync(outside, 0o700);
  return outside;
}

/** Removes sockets that a killed process left: they would stop the next bind. */
export function removeSockets(runFolder: string): void {
  for (const name of readdirSync(runFolder)) {
    if (name.endsWith('.sock')) rmSync(join(runFolder, name), { force: true });
  }
}

/** One process, distinguished from a later one with the same pid. */
interface ProcessIdentity {
  readonly pid: number;
  /** When the process began, in the form that the system reports. */
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
    stat = String(readBoundedFileSync(`/proc/${pid}/stat`, maxSecretBytes));
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  // A zombie has ended; its parent has not collected it yet.
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

function begunByPs(pid: number): string | undefined {
  const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

const pollMs = 20;

/** The processes that use a run folder, recorded on disk, so that the next start can end the processes that a killed start left. */
export function keepProcessRecord(runFolder: string, report: (line: string) => void) {
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
      // A full disk must not prevent the restart of a program that has died.
      report(`Writing the pid of ${name} failed: ${messageOf(error)}.`);
    }
  };
  return { note, remove: (): void => rmSync(file, { force: true }) };
}

/** The pid that was recorded under a name, if that process still runs. */
export function notedPid(runFolder: string, name: string): number | undefined {
  const identity = read(runFolder).get(name);
  return identity !== undefined && isAlive(identity) ? identity.pid : undefined;
}

/**
 * Ends the processes recorded by a supervisor that was killed. The caller must hold the folder's lock. Sends SIGTERM
 * first, so that the service can write its last data, and SIGKILL after `graceMs`.
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
    content = JSON.parse(String(readBoundedFileSync(fileIn(runFolder), maxSecretBytes)));
  } catch {
    return new Map(); // There is no record yet, or a power failure cut it off: its processes are gone as well.
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
