import { inspect } from 'node:util';
import { postMessageToThread } from 'node:worker_threads';

/** Errors with which the system reports that it has no files, memory, processes or threads left. They pass by themselves. */
const shortages: ReadonlySet<unknown> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Whether a system call failed because the process, or the system, has nothing left of what it needs. */
export function isShortage(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error && shortages.has(error.code);
}

/**
 * Reads a value of the system, again and again. During a shortage it returns the last value: even the memory of the own
 * process cannot be read without a free file descriptor. `initial`: the value until the first reading succeeds.
 */
export function keepLast<Value>(read: () => Value, initial: Value): () => Value {
  let last = initial;
  return () => {
    try {
      last = read();
    } catch (error) {
      if (!isShortage(error)) throw error;
    }
    return last;
  };
}

type Report = (error: Error) => void;

/** Who learns of shortages that no code handles: only the newest one. A program starts before its log does. */
const reports: Report[] = [];

/**
 * From now on, a shortage that no code handles is reported and does not end the process: not in a timer, in an event of a socket or a
 * watcher, or in a promise, in any of its threads (`startWorker`). All requests in progress would end with the process. Any other error
 * that no code handles still ends it, with its stack on standard error and exit code 1. Returns a function that takes this back.
 */
export function surviveShortages(report: Report): () => void {
  reports.push(report);
  if (reports.length === 1) {
    // Node passes unhandled rejections to the same event.
    process.on('uncaughtException', surviveOrEnd);
    process.on('workerMessage', takeReport);
  }
  return () => {
    reports.splice(reports.indexOf(report), 1);
    if (reports.length > 0) return;
    process.off('uncaughtException', surviveOrEnd);
    process.off('workerMessage', takeReport);
  };
}

function surviveOrEnd(error: unknown): void {
  if (isShortage(error)) {
    reports.at(-1)?.(error);
    return;
  }
  process.stderr.write(`${inspect(error)}\n`);
  process.exit(1);
}

/** A message with which a thread reports a shortage. */
interface ShortageMessage {
  readonly shortage: Error;
}

function takeReport(message: unknown): void {
  if (typeof message !== 'object' || message === null || !('shortage' in message)) return;
  if (message.shortage instanceof Error) reports.at(-1)?.(message.shortage);
}

/**
 * As `surviveShortages`, for this thread, which is not the main one. The main thread reports its shortages. Any other error still ends the
 * thread.
 */
export function surviveShortagesInThread(): void {
  process.on('uncaughtException', (error) => {
    if (!isShortage(error)) throw error;
    const message: ShortageMessage = { shortage: error };
    // Without a reporting main thread, it is only survived.
    postMessageToThread(0, message).catch(() => undefined);
  });
}
