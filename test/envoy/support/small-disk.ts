import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** A disk of its own under a folder. */
export interface SmallDisk {
  /** Leaves no room on it. */
  readonly fill: () => void;
  readonly free: () => void;
  readonly remove: () => void;
}

/** Mounts a disk of so many KiB over a folder; undefined where this user may mount nothing. */
export function mountSmallDisk(folder: string, kibibytes: number): SmallDisk | undefined {
  const options = `size=${kibibytes}k,mode=700`;
  if (spawnSync('sh', ['-c', 'mount -t tmpfs -o "$0" weir "$1"', options, folder]).status !== 0) return undefined;
  const filler = join(folder, 'filler');
  /** The last write of a block that is too large writes nothing, or a part. */
  const fillBy = (bytes: number): void => {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(bytes));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  };
  return {
    fill: () => [1024 * 1024, 1024].forEach(fillBy),
    free: () => rmSync(filler, { force: true }),
    remove: () => void execFileSync('sh', ['-c', 'umount -l "$0"', folder]),
  };
}
