import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

/** Something only one process on the machine may hold, and a process that is killed lets go of. */
export interface Held {
  readonly release: () => void;
}

/** Takes what only one may hold, or gives undefined while another process has it. */
export type TryLock = (path: string) => Held | undefined;

const maxProcesses = 1_000;

/**
 * Takes a folder of the journal for this process alone: several may share a data folder. What a process that is gone has left
 * in a folder that nobody holds is moved to ours. Throws when the folders cannot be made.
 */
export function takeJournalFolder(root: string, tryLock: TryLock): { readonly folder: string } & Held {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  for (let number = 0; number < maxProcesses; number += 1) {
    const folder = join(root, String(number));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lock = tryLock(join(folder, 'lock'));
    if (lock === undefined) continue;
    adopt(root, { own: String(number), tryLock });
    return { folder, release: lock.release };
  }
  throw new Error(`no free folder in ${root}`);
}

function adopt(root: string, { own, tryLock }: { readonly own: string; readonly tryLock: TryLock }): void {
  for (const number of readdirSync(root)) {
    if (number === own) continue;
    const lock = tryLock(join(root, number, 'lock'));
    if (lock === undefined) continue;
    try {
      for (const name of readdirSync(join(root, number))) {
        if (name.endsWith('.journal')) renameSync(join(root, number, name), join(root, own, name));
      }
    } finally {
      lock.release();
    }
  }
}
