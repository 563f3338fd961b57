import { fstatSync, write, writeSync } from 'node:fs';
import { pino } from 'pino';
import type { Clock, CancelTimer } from '../core/clock.ts';
import { systemClock } from './clock.ts';
import type { LogFormat } from './log-format.ts';

/** Where the bytes of a log go. */
export interface LogSink {
  /**
   * Writes as many bytes as possible and calls back once, later: with the number of bytes, or with the error if it
   * wrote none.
   */
  readonly write: (bytes: Buffer, done: (error: NodeJS.ErrnoException | undefined, written: number) => void) => void;
  /** A last attempt while the process exits. Never waits and never throws. */
  readonly writeNow: (bytes: Buffer) => void;
}

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
  /** Writes the rest with `writeNow` of the sink. */
  readonly writeNow: () => void;
}

interface LogStreamOptions {
  readonly sink: LogSink;
  readonly clock: Clock;
  readonly format: LogFormat;
  /** Makes the record that reports, once writing works again, how many records were dropped. */
  readonly notice: (dropped: number) => string;
  /** Most bytes that may wait while a write is under way. */
  readonly maxBytes?: number;
}

const usualMaxBytes = 1024 * 1024;
/** Wait after a failed write: a full disk is tried once a second, not once a record. */
const retryMs = 1_000;
/** Wait after a write for which there was no room at the moment (EAGAIN). */
const busyMs = 100;
/**
 * Least time from the end of a write to the next one. A write wakes a thread of Node's pool, which wakes the event loop. So a
 * write for each request was one wake-up in five of a service with one caller.
 */
const gatherMs = 100;

/**
 * Replaces pino's own destination (sonic-boom 4.2). On a full disk, sonic-boom throws an uncaught error and repeats the
 * write in a busy loop at the exit that follows. It also does not limit the waiting records (docs/decisions/0026).
 */
export function createLogStream(options: LogStreamOptions): LogStream {
  const { sink, clock, format, notice, maxBytes = usualMaxBytes } = options;
  let state: 'idle' | 'writing' | 'gathering' | 'pausing' | 'closed' = 'idle';
  /** Whether `close` waits for the last records. */
  let isClosing = false;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let dropped = 0;
  /** How many of the dropped records the log has reported. */
  let reported = 0;
  /** Whether the last write ended in the middle of a record. */
  let isTorn = false;
  let cancel: CancelTimer = () => undefined;
  let onIdle: () => void = () => undefined;

  const takeWaiting = (): Buffer => {
    const bytes = Buffer.from(waiting.join(''));
    waiting = [];
    waitingBytes = 0;
    return bytes;
  };

  const after = (delayMs: number, run: () => void): void => {
    if (state === 'closed') return;
    state = 'pausing';
    onIdle();
    cancel = clock.after(delayMs, run);
  };

  /** Writes records. If `reports` is above 0, writes the notice that this many records were dropped. */
  const put = (bytes: Buffer, reports: number): void => {
    state = 'writing';
    sink.write(bytes, (error, written) => {
      if (state === 'closed') return;
      if (error === undefined && written > 0) {
        isTorn = bytes[written - 1] !== newline;
        if (written < bytes.length) {
          put(bytes.subarray(written), reports);
          return;
        }
        reported += reports;
        if (isClosing || dropped > reported) next();
        else gather();
      } else if (error === undefined || error.code === 'EAGAIN' || error.code === 'EBUSY') {
        after(busyMs, () => put(bytes, reports));
      } else {
        // Records that arrived in the meantime could not be written either, and would be old when there is room again.
        dropped += (reports > 0 ? 0 : countRecords(bytes)) + waiting.length;
        takeWaiting();
        after(retryMs, next);
      }
    });
  };

  /** Records that arrive from now on share a write. */
  const gather = (): void => {
    state = 'gathering';
    cancel = clock.after(gatherMs, next);
  };

  const next = (): void => {
    const missing = dropped - reported;
    if (missing > 0) put(Buffer.from(`${isTorn ? '\n' : ''}${format(notice(missing))}`), missing);
    else if (waiting.length > 0) put(takeWaiting(), 0);
    else {
      state = 'idle';
      onIdle();
    }
  };

  return {
    write: (record) => {
      if (state === 'closed' || waitingBytes + record.length > maxBytes) {
        dropped += 1;
        return;
      }
      const text = format(record);
      waiting.push(text);
      waitingBytes += text.length;
      if (state === 'idle') next();
    },
    dropped: () => dropped,
    close: async (timeoutMs) => {
      isClosing = true;
      if (state === 'gathering') {
        cancel();
        next();
      }
      if (state === 'writing') {
        await new Promise<void>((resolve) => {
          const giveUp = clock.after(timeoutMs, resolve);
          onIdle = () => {
            giveUp();
            resolve();
          };
        });
      }
      cancel();
      const isOut = state !== 'writing';
      dropped += waiting.length;
      takeWaiting();
      state = 'closed';
      return isOut;
    },
    writeNow: () => {
      if (state !== 'closed' && waiting.length > 0) sink.writeNow(takeWaiting());
    },
  };
}

const newline = 0x0a;

/** Records that end within these bytes. */
function countRecords(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

/** The log of a service, on standard output. If the process exits early, the records that are left are written at the exit. */
export function logToStandardOutput(format: LogFormat): LogStream {
  const stream = createLogStream({
    sink: standardOutput(),
    clock: systemClock,
    format,
    notice: (dropped) => {
      const msg = 'records of this log were dropped: they could not be written';
      return `${JSON.stringify({ level: pino.levels.values['warn'], time: systemClock.now(), dropped, msg })}\n`;
    },
  });
  process.once('exit', stream.writeNow);
  return stream;
}

/**
 * Standard output as a sink. Node's threads write to a file. They must not write to a pipe or a socket: such a write
 * would hold a thread, and the end of the process, until the reader reads. So these are written as a stream, which Node
 * has set not to block.
 */
function standardOutput(): LogSink {
  const facts = fstatSync(1);
  if (facts.isFIFO() || facts.isSocket()) return streamSink(process.stdout);
  return {
    write: (bytes, done) => write(1, bytes, (error, written) => done(error ?? undefined, written)),
    writeNow: (bytes) => {
      // A terminal may be stopped by Ctrl-S, and the write would wait.
      if (!facts.isFile()) return;
      try {
        writeSync(1, bytes);
      } catch {
        // The process is exiting: the error has no reader.
      }
    },
  };
}

function streamSink(stream: NodeJS.WritableStream): LogSink {
  // The callback of each write gets its error. Without this listener, a reader that has gone would end the process.
  stream.on('error', () => undefined);
  return {
    write: (bytes, done) => stream.write(bytes, (error) => done(error ?? undefined, error ? 0 : bytes.length)),
    writeNow: (bytes) => stream.write(bytes),
  };
}
