import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, type WantedProgram } from './find-program.ts';

/** A program that a Debian package brings. */
export interface PackagedProgram extends WantedProgram {
  /** Name of the package: `postgresql` */
  readonly package: string;
}

const run = promisify(execFile);
const installMs = 10 * 60_000;

/**
 * Path of a program. Where it is missing its Debian package is installed, given the right to do so; else it throws
 * one line that says how. A suite never skips what it could not run.
 */
export async function findOrInstall(wanted: PackagedProgram): Promise<string> {
  const found = findProgram(wanted);
  if (found !== undefined) return found;
  const command = installCommand(wanted.package);
  await installDebianPackage(wanted.package, `${wanted.program} is needed and not installed`);
  const installed = findProgram(wanted);
  if (installed !== undefined) return installed;
  throw new Error(`${wanted.program} is still not there after \`${command}\`: put it on the PATH.`);
}

/** Installs a package, given the right to do so; else throws one line that says what is `missing` and how to get it. */
export async function installDebianPackage(name: string, missing = `${name} is needed`): Promise<void> {
  const command = installCommand(name);
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`${missing}: run \`${command}\` as root, or put it on the PATH.`);
  }
  await install(name, command);
}

const installCommand = (name: string): string => `apt-get install -y --no-install-recommends ${name}`;

async function install(name: string, command: string): Promise<void> {
  const options = {
    timeout: installMs,
    // Nobody is there to be asked; and a test wants the program, not a server that runs from now on.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  };
  const clusters = '/etc/postgresql-common';
  if (name === 'postgresql' && !existsSync(`${clusters}/createcluster.conf`)) {
    mkdirSync(clusters, { recursive: true });
    writeFileSync(`${clusters}/createcluster.conf`, 'create_main_cluster = false\n');
  }
  // apt waits for another apt while it installs, but not while it updates its lists. Suites install at the same time.
  const alone = (...args: readonly string[]) =>
    run('flock', [join(tmpdir(), 'weir-test-packages.lock'), ...args], options);
  const apt = (...args: readonly string[]) =>
    alone('apt-get', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Options::=--force-confold', ...args);
  try {
    // A run that was ended in the middle of an installation must not break the next one.
    await alone('dpkg', '--configure', '-a');
    await apt('update');
    await apt('install', '-y', '--no-install-recommends', name);
  } catch (error) {
    const why = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
    throw new Error(`\`${command}\` failed (${why}): install it by hand, or put its programs on the PATH.`, {
      cause: error,
    });
  }
}
