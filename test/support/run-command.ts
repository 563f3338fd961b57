import { vi } from 'vitest';
import { runCommandLine } from '../../src/programs/command-line/command-line.ts';
import { inheritedEnvironment } from './program-environment.ts';
import type { Ended, RunOptions } from './run-weir.ts';

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs one `weir …` in this process, which takes a tenth of the time of a process of its own. For tests of what a command does. Commands run
 * one after the other.
 */
export function runCommand(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const run = last.then(() => runAlone(args, options));
  last = run.catch(() => undefined);
  return run;
}

async function runAlone(args: readonly string[], { cwd, env }: RunOptions): Promise<Ended> {
  const [folder, environment] = [process.cwd(), process.env];
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text);
      return true;
    }),
  );
  if (cwd !== undefined) process.chdir(cwd);
  process.env = { ...inheritedEnvironment(), ...env };
  process.exitCode = undefined;
  try {
    await runCommandLine(args);
    return { code: process.exitCode ?? 0, ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.exitCode = undefined;
    process.env = environment;
    process.chdir(folder);
  }
}
