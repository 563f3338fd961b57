// @suite apart
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/sample-database.ts';
import { runWeir } from '../../test/support/run-weir.ts';
import { makeDataFolder } from './data-folder.ts';

const commands = [['portal', '--port', '0'], ['serve'], ['start', '--no-portal']] as const;

/** A disk that nothing may be written to; undefined where this user may mount none. */
function readOnlyDisk(): string | undefined {
  const folder = temporaryFolder();
  if (spawnSync('sh', ['-c', 'mount -t tmpfs -o size=1m,ro weir "$0"', folder]).status !== 0) return undefined;
  onTestFinished(() => void execFileSync('sh', ['-c', 'umount -l "$0"', folder]));
  return folder;
}

describe('the data folder', () => {
  it('is made for its owner alone, and one that is there is taken', () => {
    const folder = join(temporaryFolder(), 'new', 'data');
    makeDataFolder(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    makeDataFolder(folder);
  });

  it('that is a file is refused by its name', () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'data')]) {
      expect(() => makeDataFolder(path)).toThrow(
        `The data folder ${path} cannot be used: ${file} is a file. Choose another folder with --data or WEIR_DATA.`,
      );
    }
  });

  it('that is on a read-only disk is refused by each command, with what to do', async ({ skip }) => {
    const disk = readOnlyDisk();
    skip(disk === undefined, 'this user may not mount a disk');
    if (disk === undefined) return;
    const folders = [disk, join(disk, 'new', 'data')];
    for (const [command, folder] of commands.flatMap((one) => folders.map((path) => [one, path] as const))) {
      const { code, stderr } = await runWeir([...command, '--data', folder]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          `The data folder ${folder} cannot be used: its file system is read-only (EROFS). Mount it writable, or choose another folder with --data or WEIR_DATA.`,
        ),
      ]);
      expect(existsSync(join(folder, 'weir.db'))).toBe(false);
    }
  });

  it('that another user has is refused with the name of this one', ({ skip }) => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o500);
    onTestFinished(() => chmodSync(folder, 0o700));
    skip(process.getuid?.() === 0, 'root may write everywhere');
    expect(() => makeDataFolder(folder)).toThrow(/user \S+ may not write there \(EACCES\)/);
  });
});
