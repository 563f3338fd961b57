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
    fail: () => void execFileSync('sh', ['-c', 'mount -o remount,abort "$0"', folder]),
    repair: () => {
      // e2fsck exits with 1 when it corrected errors (fsck(8)).
      const steps = 'umount "$1" && { e2fsck -fy "$0" || test $? = 1; } && mount -o loop "$0" "$1"';
      execFileSync('sh', ['-c', steps, image, folder]);
    },
    remove: () => {
      execFileSync('sh', ['-c', 'umount -l "$0"', folder]);
      rmSync(image);
    },
  };
}
