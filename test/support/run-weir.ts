import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { compileCache, inheritedEnvironment } from './program-environment.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

export interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs one `weir …` as a process of its own, with no WEIR_ variables but those given. */
export function runWeir(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return runScript(main, args, options);
}

/** As `runWeir`, for another program. */
export function runScript(script: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const env = { ...inheritedEnvironment(), ...compileCache, ...options.env };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, ...args],
      { cwd: options.cwd, env, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        resolve({ code: error ? (error.code ?? null) : 0, stdout, stderr });
      },
    );
  });
}
