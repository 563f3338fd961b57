import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CancelTimer, type Clock, every } from '../core/clock.ts';

/** Largest size of a log, and of its older part, `<path>.1`: together twice as much on the disk. */
const rotateBytes = 16 * 1024 * 1024;
const rotatePeriodMs = 1_000;
const copyBytes = 1024 * 1024;
const tailBytes = 16 * 1024;

/** Opens a log for appending. The caller closes it. Undefined when it cannot be opened: a program runs without a log, too. */
export function openLog(path: string): number | undefined {
  try {
    return openSync(path, 'a', 0o600);
  } catch {
    return undefined;
  }
}

/** Keeps every `*.log` of a folder within its size while programs write there, until the returned function is called. */
export function keepLogsSmall(folder: string, clock: Clock): CancelTimer {
  const look = (): void => {
    for (const path of logsIn(folder)) {
      try {
        rotateLog(path);
      } catch {
        // The disk has a fault. The next attempt may succeed.
      }
    }
  };
  look();
  return every(clock, rotatePeriodMs, look);
}

function logsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).flatMap((name) => (name.endsWith('.log') ? [join(folder, name)] : []));
  } catch {
    // The folder was removed, so there is nothing to keep small.
    return [];
  }
}

/**
 * Copies the end of a log that has grown large to `<path>.1` and empties the log. Programs that write to it have it open for
 * appending (O_APPEND) and go on at the new end. Only what is written between the last read and the truncation is lost. Where
 * the disk has no room for the copy, the log is emptied all the same.
 */
export function rotateLog(path: string, maxBytes: number = rotateBytes): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= maxBytes) return;
  const log = openSync(path, 'r+');
  try {
    copyEnd(log, `${path}.1`, maxBytes);
  } catch {
    rmSync(`${path}.1`, { force: true });
  } finally {
    ftruncateSync(log, 0);
    closeSync(log);
  }
}

/** Copies the last `maxBytes` of a log, and what is added meanwhile. */
function copyEnd(log: number, path: string, maxBytes: number): void {
  // Truncating the old copy frees its space first.
  const copy = openSync(path, 'w', 0o600);
  try {
    const buffer = Buffer.alloc(copyBytes);
    const { size } = fstatSync(log);
    // A program that writes faster than this reads must not be followed for ever.
    const end = size + maxBytes;
    for (let at = size - maxBytes; at < end;) {
      const read = readSync(log, buffer, 0, buffer.length, at);
      if (read === 0) return;
      writeAll(copy, buffer.subarray(0, read));
      at += read;
    }
  } finally {
    closeSync(copy);
  }
}

/** Writes all bytes or throws. On a nearly full disk, one write may write only a part, and the next one fails. */
function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}

/** The last lines written to a log after `from` bytes; empty when there is none. */
export function tailLog(path: string, { from, lines }: { readonly from: number; readonly lines: number }): string[] {
  const file = openForReading(path);
  if (file === undefined) return [];
  try {
    const { size } = fstatSync(file);
    // A log that has become shorter was rotated: all of it is newer.
    const start = Math.max(size < from ? 0 : from, size - tailBytes);
    const buffer = Buffer.alloc(size - start);
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

function openForReading(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch {
    return undefined;
  }
}
