import { type ChildProcess, type SendHandle, spawn } from 'node:child_process';
import { closeSync, fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pause } from '../../process/clock.ts';
import { openLog, tailLog } from '../../process/log-file.ts';

/** How a child ended, in words: `ended with code 1`, `was killed by SIGKILL`, `could not be started: …`. */
type ChildEnding = string;

/** A program that this process has started. */
export type Child = ReturnType<typeof startChild>;

interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to our own environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly logPath: string;
  /** Opens a channel. The child sends messages on it, and it closes when this process dies. */
  readonly onMessage?: (message: unknown) => void;
}

const shownLines = 12;

/**
 * Starts a program with its output in a log. The program gets a process group of its own, so that Ctrl-C in the terminal reaches
 * only the supervisor, which ends the programs in the right order.
 */
export function startChild({ command, args, env = {}, logPath, onMessage }: ChildOptions) {
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

  const ended = new Promise<ChildEnding>((resolve) => {
    child.once('error', (error) => {
      if (child.pid === undefined) resolve(`could not be started: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      const ending = signal === null ? `ended with code ${String(code)}` : `was killed by ${signal}`;
      // The child's last messages may still be in the channel, which closes after the child has ended.
      if (child.connected) child.once('disconnect', () => resolve(ending));
      else resolve(ending);
    });
  });

  const stop = async (graceMs: number): Promise<void> => {
    const { pid } = child;
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new AbortController();
    void ended.then(() => gone.abort());
    signalGroup(pid, 'SIGTERM');
    // An open channel keeps a program alive that listens for its end (process.channel.ref of Node's manual).
    if (child.connected) child.disconnect();
    await pause(graceMs, gone.signal);
    if (!gone.signal.aborted) signalGroup(pid, 'SIGKILL');
    await ended;
  };

  return {
    pid: child.pid,
    /** Resolves when the program has ended; never rejects. */
    ended,
    /** The last lines of the program's log since its start. */
    lastLines: (): readonly string[] => tailLog(logPath, { from, lines: shownLines }),
    /** Sends SIGTERM to the process group, and SIGKILL when the program has not ended within `graceMs`. */
    stop,
    /** Ends the process group at once, even if the program is stopped (SIGSTOP). */
    kill: (): void => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        signalGroup(child.pid, 'SIGKILL');
    },
    /** Sends a message over the program's channel, with a listener or a connection; does nothing when there is no channel. */
    send: (message: string | object, handle?: SendHandle): void => {
      // A program that ends at this moment does not get the message; its end is noticed anyway.
      if (child.connected) child.send(message, handle, () => undefined);
    },
  };
}

/** Signals a process group; does nothing when the group has ended already. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: the group has ended in between.
  }
}

/** How a short command ended. `code` is undefined when it could not be started or a signal ended it. */
interface CommandResult {
  readonly code: number | undefined;
  /** Standard output and standard error, in the order they came; the last 64 KiB. */
  readonly output: string;
}

const outputLimit = 65_536;

/** Runs a short command to its end. Never rejects: a command that cannot be started is a result, too. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: {
    /** The whole environment. The command is found by its PATH. Default: our own environment. */
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<CommandResult> {
  return new Promise((resolve) => {
    let output = '';
    const collect = (chunk: string): void => {
      output = (output + chunk).slice(-outputLimit);
    };
    const child = spawn(command, [...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      timeout: options.timeoutMs,
      signal: options.signal,
    });
    for (const stream of outputsOf(child)) stream.setEncoding('utf8').on('data', collect);
    child.once('error', (error) => {
      const isMissing = 'code' in error && error.code === 'ENOENT';
      resolve({
        code: undefined,
        output: isMissing ? `there is no ${command} on this machine` : output || error.message,
      });
    });
    child.once('close', (code) => resolve({ code: code ?? undefined, output }));
  });
}

/** The outputs of a child whose stdio are pipes. Node makes none, against its types, if there is no file left for the pipes. */
function outputsOf({ stdout, stderr }: Partial<Pick<ChildProcess, 'stdout' | 'stderr'>>): readonly Readable[] {
  return [stdout, stderr].filter((stream) => stream !== undefined && stream !== null);
}

/** A program and its arguments. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Returns a command that runs the same program, but ends it with this process, even if this process is killed with
 * SIGKILL (PR_SET_PDEATHSIG, prctl(2)). Without `setpriv` of util-linux the command is unchanged, and the next start
 * ends the programs that were left.
 */
export async function tieToThisProcess({ command, args }: Command): Promise<Command> {
  const tie = ['--pdeathsig', 'KILL', '--'];
  const { code } = await runCommand('setpriv', [...tie, 'true'], { timeoutMs: 5_000 });
  return code === 0 ? { command: 'setpriv', args: [...tie, command, ...args] } : { command, args };
}
