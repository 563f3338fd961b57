import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../core/message-of.ts';
import { systemClock, pause } from './clock.ts';
import { signalGroup } from './child.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';

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
