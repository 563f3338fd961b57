import { spawn } from 'node:child_process';
import { closeSync, fstatSync } from 'node:fs';
import { pause } from './clock.ts';
import { openLog, tailLog } from './log-file.ts';

/** How a child ended, in words: `ended with code 1`, `was killed by SIGKILL`, `could not be started: …`. */
export type Ending = string;

/** A running program of ours. */
export interface Child {
  readonly pid: number | undefined;
  /** Resolves when it is gone; never rejects. */
  readonly ended: Promise<Ending>;
  /** What it wrote to its log since it was started, the last lines. */
  readonly lastLines: () => readonly string[];
  /** Asks it to end, and ends it and its whole process group when it has not within `graceMs`. */
  readonly stop: (graceMs: number) => Promise<void>;
  /** Ends it and its process group without asking, also when it is stopped (SIGSTOP). */
  readonly kill: () => void;
  /** Says something to it over its channel; nothing happens when there is none. */
  readonly send: (message: string) => void;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to our own environment; undefined takes a variable out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly logPath: string;
  /** Opens a channel: the child sends messages, and sees it close when this process dies. */
  readonly onMessage?: (message: unknown) => void;
}

const shownLines = 12;

/**
 * Starts a program with its output in a log. It gets a process group of its own, so that Ctrl-C in the terminal
 * reaches only the supervisor, which ends the others in the right order.
 */
export function startChild({ command, args, env = {}, logPath, onMessage }: ChildOptions): Child {
  const log = openLog(logPath);
  const from = log === undefined ? 0 : fstatSync(log).size;
  const output = log ?? 'ignore';
  const child = spawn(command, [...args], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output, ...(onMessage === undefined ? [] : (['ipc'] as const))],
  });
  if (log !== undefined) closeSync(log);
  if (onMessage !== undefined) child.on('message', onMessage);

  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`could not be started: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      resolve(signal === null ? `ended with code ${String(code)}` : `was killed by ${signal}`);
    });
  });

  const stop = async (graceMs: number): Promise<void> => {
    const { pid } = child;
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new AbortController();
    void ended.then(() => gone.abort());
    signalGroup(pid, 'SIGTERM');
    // A program that listens for the end of its channel is kept alive by it (process.channel.ref of Node's manual).
    if (child.connected) child.disconnect();
    await pause(graceMs, gone.signal);
    if (!gone.signal.aborted) signalGroup(pid, 'SIGKILL');
    await ended;
  };

  return {
    pid: child.pid,
    ended,
    lastLines: () => tailLog(logPath, { from, lines: shownLines }),
    stop,
    kill: () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        signalGroup(child.pid, 'SIGKILL');
    },
    send: (message) => {
      // One that ends at this moment does not hear it, which its end says better.
      if (child.connected) child.send(message, () => undefined);
    },
  };
}

/** Signals a process group; one that is gone already is no error. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: it ended in between.
  }
}
