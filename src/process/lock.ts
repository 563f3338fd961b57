import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pause } from './clock.ts';

/** A lock that only one process on the machine can hold. */
export interface Lock {
  readonly release: () => void;
}

const pollMs = 100;
/** SQLITE_BUSY, https://www.sqlite.org/rescode.html */
const busy = 5;

/**
 * Takes the lock at `path`, or returns undefined while another process holds it. Throws when the file cannot be made.
 *
 * The lock is SQLite's lock on an empty database, which is a lock of the kernel: it ends with the process that holds
 * it, so a killed holder leaves nothing stale behind. (A file with a pid stays behind, and a later process may get the
 * same pid.)
 */
export function tryLock(path: string): Lock | undefined {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

/** Waits for the lock; `onWait` is called once when another process holds it. */
export async function takeLock(path: string, onWait: () => void): Promise<Lock> {
  for (let waited = false; ; waited = true) {
    const lock = tryLock(path);
    if (lock !== undefined) return lock;
    if (!waited) onWait();
    await pause(pollMs);
  }
}
