import { inspect } from 'node:util';

/** Errors with which the system reports that it has no files or memory left for this process. They pass by themselves. */
const shortages: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Whether a system call failed because the process, or the system, has no files or memory left. */
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

/**
 * From now on, a shortage that no code handles is reported and does not end the process: not in a timer, in an event of a socket or a
 * watcher, or in a promise. All requests in progress would end with the process. Any other error that no code handles still ends it,
 * with its stack on standard error and exit code 1. Returns a function that takes this back.
 */
export function surviveShortages(onShortage: (error: NodeJS.ErrnoException) => void): () => void {
  const handle = (error: unknown): void => {
    if (isShortage(error)) {
      onShortage(error);
      return;
    }
    process.stderr.write(`${inspect(error)}\n`);
    process.exit(1);
  };
  // Node passes unhandled rejections to the same event.
  process.on('uncaughtException', handle);
  return () => void process.off('uncaughtException', handle);
}
