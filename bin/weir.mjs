#!/usr/bin/env node
// `weir …` from a checkout: makes sure that the dependencies are there, then becomes the pinned Node running
// src/main.ts. Plain JavaScript, because it runs before anything is installed, on any Node from 18 on.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';
import { ensurePages } from './pages.mjs';

const PARENT_POLL_MS = 500;
const main = join(root, 'src', 'main.ts');
/** `kubectl weir …` runs the second one, if the folder is on PATH. */
const commands = ['weir', 'kubectl-weir'];

/** npm links the binaries of dependencies but not the package's own; with these links `npx weir` starts at once. */
function linkCommands() {
  for (const name of commands) {
    const command = join(root, 'node_modules', '.bin', name);
    if (existsSync(command)) continue;
    try {
      symlinkSync(join('..', '..', 'bin', 'weir.mjs'), command);
    } catch {
      // Another start was first, or node_modules is read-only: npx then finds its own, slower way.
    }
  }
}

/** Node keeps the stripped and compiled sources here, which halves the time to the first line of our code. */
function compileCache() {
  const folder = join(root, 'node_modules', '.cache', 'weir-compiled');
  try {
    mkdirSync(folder, { recursive: true });
    return { NODE_COMPILE_CACHE: folder };
  } catch {
    return {};
  }
}

/** Replaces this process where Node can (22.15 and newer, not on Windows): nothing is left in between. */
function become(node, args, env) {
  if (typeof process.execve !== 'function' || process.platform === 'win32') return;
  try {
    process.execve(node, [node, ...args], env);
  } catch {
    // Some sandboxes forbid it; a child does as well.
  }
}

/** Runs a child in our place: its signals, its end and ours are one. */
function standIn(node, args, env) {
  // The channel carries nothing. When this process is killed it closes, and a long-running command then ends, too.
  const child = spawn(node, args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  // In a terminal Ctrl-C reaches the child as well, but `kill` reaches only us. Two signals within a second count as
  // one to the commands that run long.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => child.kill(signal));
  // npm's shell may take a signal for itself and leave us behind.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event !== undefined) {
    setInterval(() => process.ppid === parent || child.kill('SIGTERM'), PARENT_POLL_MS).unref();
  }
  child.once('error', (error) => fail(`${node} could not be started: ${error.message}`));
  child.once('exit', (code, signal) => {
    // A process that was killed says so with 128 and the number of the signal, as in a shell.
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

function fail(message) {
  console.error(`weir: ${message}`);
  process.exit(1);
}

try {
  const node = await ensureInstalled();
  linkCommands();
  // `weir start` builds them beside the gateway.
  if (process.argv[2] === 'portal') await ensurePages(node);
  const env = { ...compileCache(), ...process.env };
  const args = [main, ...process.argv.slice(2)];
  become(node, args, env);
  standIn(node, args, env);
} catch (error) {
  fail(error.message);
}
