import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';

/** A file system of its own over a folder, on a disk that can fail. */
export interface FailingDisk {
  /** From now on it can only be read, also by those who have files of it open. */
  readonly fail: () => void;
  /** Makes it good again. Nothing may have a file of it open. */
  readonly repair: () => void;
  readonly remove: () => void;
}

const make = 'truncate -s 256M "$0" && mkfs.ext4 -q -F "$0" && mount -o loop "$0" "$1"';

/** Mounts an ext4 of 256 MiB over a folder; undefined where this user may mount nothing. */
export function mountFailingDisk(folder: string): FailingDisk | undefined {
  const image = `${folder}.img`;
  if (spawnSync('sh', ['-c', make, image, folder]).status !== 0) {
    rmSync(image, { force: true });
    return undefined;
  }
  return {
    // What ext4 does by itself with errors=remount-ro (https://docs.kernel.org/admin-guide/ext4.html, "abort").
    fail: () => void execFileSync('mount', ['-o', 'remount,abort', folder]),
    repair: () => {
      execFileSync('umount', [folder]);
      // 1: errors were corrected (fsck(8)).
      const { status, stdout } = spawnSync('e2fsck', ['-fy', image], { encoding: 'utf8' });
      if (status !== 0 && status !== 1) throw new Error(stdout);
      execFileSync('mount', ['-o', 'loop', image, folder]);
    },
    remove: () => {
      execFileSync('umount', ['-l', folder]);
      rmSync(image);
    },
  };
}
