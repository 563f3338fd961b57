import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const rotateBytes = 16 * 1024 * 1024;
const tailBytes = 16 * 1024;

/** Opens a log for appending; one that has grown large is put aside first, as `<path>.1`. The caller closes it. */
export function openLog(path: string): number {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > rotateBytes) renameSync(path, `${path}.1`);
  return openSync(path, 'a', 0o600);
}

/** The last lines written to a log after `from` bytes; empty when there is none. */
export function tailLog(path: string, { from, lines }: { readonly from: number; readonly lines: number }): string[] {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return [];
  }
  try {
    const { size } = fstatSync(file);
    const start = Math.max(from, size - tailBytes, 0);
    const buffer = Buffer.alloc(Math.max(size - start, 0));
    readSync(file, buffer, 0, buffer.length, start);
    return buffer
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(-lines);
  } finally {
    closeSync(file);
  }
}
