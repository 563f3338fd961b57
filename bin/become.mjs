// The last step of an entry point: this process becomes the program that it prepared. Plain JavaScript on any Node, as
// install.mjs.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const PARENT_POLL_MS = 500;

/**
 * Runs a program in place of this process: its signals and its exit code are those of this process.
 *
 * @param {string} command Absolute path.
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
export function become(command, args, env) {
  replace(command, args, env);
  standIn(command, args, env);
}

/** Replaces this process where Node can (22.15 and newer, not on Windows): nothing is left in between. */
function replace(command, args, env) {
  if (typeof process.execve !== 'function' || process.platform === 'win32') return;
  try {
    process.execve(command, [command, ...args], env);
  } catch {
    // Some sandboxes forbid it; a child does as well.
  }
}

/** Runs a child in our place: its signals, its end and ours are one. */
function standIn(command, args, env) {
  // The channel carries nothing. When this process is killed it closes, and a long-running command then ends, too.
  const child = spawn(command, args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  // In a terminal Ctrl-C reaches the child as well, but `kill` reaches only us. Two signals within a second count as
  // one to the commands that run long.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // npm's shell may take a signal for itself and leave us behind.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event !== undefined) {
    setInterval(() => process.ppid === parent || child.kill('SIGTERM'), PARENT_POLL_MS).unref();
  }
  child.once('error', (error) => {
    console.error(`weir: ${command} could not be started: ${error.message}`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => {
    // A process that was killed says so with 128 and the number of the signal, as in a shell.
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}
