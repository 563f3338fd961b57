import { isatty } from 'node:tty';
import { pino } from 'pino';
import sonic from 'sonic-boom';
import type { CancelTimer, Clock } from '../core/clock.ts';
import { backgroundClock } from './clock.ts';
import type { LogFormat } from './log-format.ts';

/** A destination for pino that never makes a caller wait: records that cannot be written are dropped and counted. */
export interface LogStream {
  /** Accepts one record, which ends with a newline. */
  readonly write: (record: string) => void;
  /** Records dropped so far. */
  readonly dropped: () => number;
  /**
   * Writes the rest, for at most `timeoutMs`. Resolves to false if a write is still in progress then. That write keeps
   * the process alive, so the process must be ended with `process.exit`.
   */
  readonly close: (timeoutMs: number) => Promise<boolean>;
  /** A last attempt while the process exits. Never throws. Waits only if the file blocks. */
  readonly writeNow: () => void;
}

interface LogStreamOptions {
  /** A file, or a pipe or socket that does not block. */
  readonly fd: number;
  readonly clock: Clock;
  readonly format: LogFormat;
  /** Maximum number of bytes that wait for a write. */
  readonly maxBytes?: number;
}

const usualMaxBytes = 1024 * 1024;
/**
 * Records of this time share a write. A write wakes a thread of Node's pool, which wakes the event loop. So a write for each
 * request was one wake-up in five of a service with one caller. `periodicFlush` of sonic-boom also writes when there is nothing
 * to write, which takes 2 ms of processor time a second.
 */
const gatherMs = 100;
/** More bytes than this are written at once. */
const gatheredBytes = 15 * 1024;
/** Wait after a failed write: a full disk is tried once a second, not once a record. */
const retryMs = 1_000;

/** Writes through sonic-boom, whose buffer `maxLength` limits. Records that wait are written when writing works again. */
export function createLogStream({ fd, clock, format, maxBytes = usualMaxBytes }: LogStreamOptions): LogStream {
  let isExiting = false;
  let dropped = 0;
  /** How many of the dropped records the log has reported. */
  let reported = 0;
  let cancel: CancelTimer | undefined;
  // If a pipe has no room at the moment, sonic-boom tries again after 100 ms.
  const boom = new sonic.SonicBoom({
    ...{ fd, minLength: gatheredBytes, maxLength: maxBytes },
    retryEAGAIN: () => !isExiting,
  });

  const flushIn = (delayMs: number): void => {
    cancel ??= clock.after(delayMs, () => {
      cancel = undefined;
      boom.flush();
    });
  };

  const report = (): void => {
    if (dropped === reported) return;
    const msg = 'records of this log were dropped: they could not be written';
    const notice = { level: pino.levels.values['warn'], time: clock.now(), dropped: dropped - reported, msg };
    reported = dropped;
    boom.write(format(`${JSON.stringify(notice)}\n`));
    flushIn(gatherMs);
  };

  boom.on('drop', () => (dropped += 1));
  boom.on('error', () => flushIn(retryMs));
  boom.on('drain', report);
  return {
    write: (record) => {
      boom.write(format(record));
      flushIn(gatherMs);
    },
    dropped: () => dropped,
    close: (timeoutMs) =>
      new Promise((resolve) => {
        const giveUp = clock.after(timeoutMs, () => resolve(false));
        boom.flush(() => {
          giveUp();
          cancel?.();
          resolve(true);
        });
      }),
    writeNow: () => {
      isExiting = true;
      try {
        boom.flushSync();
      } catch {
        // The process is exiting: the error has no reader.
      }
    },
  };
}

/**
 * The log of a service, on standard output. If the process exits early, the records that are left are written at the exit.
 *
 * Node's threads write. A write to a pipe or a socket would hold a thread, and the end of the process, until the reader reads
 * (docs/decisions/0026). So these must not block, which Node sees to when it opens `process.stdout`.
 */
export function logToStandardOutput(format: LogFormat): LogStream {
  const { fd } = process.stdout;
  const stream = createLogStream({ fd, clock: backgroundClock, format });
  // A terminal may be stopped by Ctrl-S, and the write would wait.
  if (!isatty(fd)) process.once('exit', stream.writeNow);
  return stream;
}
