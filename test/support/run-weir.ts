import { execFile } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const main = join(root, 'src', 'main.ts');
// As bin/weir.mjs sets it: it halves the time of each command.
export const compileCache = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'weir-compiled') };

export interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs one `weir …` as a process of its own, with no WEIR_ variables but those given. */
export function runWeir(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return runScript(main, args, options);
}

/** As `runWeir`, for another program. */
export function runScript(script: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('WEIR_') && name !== 'NODE_OPTIONS',
  );
  const env = { ...Object.fromEntries(inherited), ...compileCache, ...options.env };
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
