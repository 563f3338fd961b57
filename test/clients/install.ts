import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { takeLock } from '../../src/process/lock.ts';
import { findOrInstall, installDebianPackage } from '../support/debian-package.ts';

export type Registry = 'npm' | 'pypi';

/** Where packages are: a folder with node_modules, and a virtual environment of Python. */
export type Installation = Readonly<Record<Registry, string>>;

const run = promisify(execFile);
const here = import.meta.dirname;
const limitMs = 10 * 60_000;

/**
 * The folders with the clients that the suite is pinned to. What is missing is installed, once per set of pins and outside
 * the checkout; of several processes that find it missing one installs it and the others wait.
 */
export async function installPinned(): Promise<Installation> {
  const locked = readFileSync(join(here, 'node', 'package-lock.json'), 'utf8');
  return {
    npm: await kept('npm', [locked], async (folder) => {
      for (const name of ['package.json', 'package-lock.json', '.npmrc'])
        cpSync(join(here, 'node', name), join(folder, name));
      await npm(folder, ['ci']);
    }),
    pypi: await installRequirements('pypi', join(here, 'python', 'requirements.txt')),
  };
}

/** The folder of an environment with the Python packages that a file pins with their hashes. Installed as `installPinned` does. */
export async function installRequirements(name: string, requirements: string): Promise<string> {
  // An environment is bound to the Python that made it.
  const { stdout: madeBy } = await run(await findPython(), ['-c', 'import sys; print(sys.executable, sys.version)']);
  return kept(name, [readFileSync(requirements, 'utf8'), madeBy], async (folder) => {
    await makeEnvironment(folder);
    await pip(folder, ['--require-hashes', '--requirement', requirements]);
  });
}

/** The folder with the generator of clients for the admin API, and the older compiler that it takes. Installed as `installPinned` does. */
export function installGenerator(): Promise<string> {
  const from = join(here, 'admin-api');
  return kept('admin-api', [readFileSync(join(from, 'package-lock.json'), 'utf8')], async (folder) => {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) cpSync(join(from, name), join(folder, name));
    await npm(folder, ['ci']);
  });
}

/** Installs a package and others at their newest versions into a new folder; resolves to the version of the first. */
export async function installNewest(
  registry: Registry,
  folder: string,
  [name, ...others]: readonly [string, ...string[]],
): Promise<string> {
  mkdirSync(folder, { recursive: true });
  if (registry === 'npm') {
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    await npm(folder, ['install', name, ...others]);
    const { version } = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as {
      readonly version: string;
    };
    return version;
  }
  await makeEnvironment(folder);
  // One after the other: together, their resolution may try hundreds of older versions.
  for (const wanted of [name, ...others]) await pip(folder, [wanted]);
  const asked = `import importlib.metadata; print(importlib.metadata.version("${name}"))`;
  return (await run(join(folder, 'bin', 'python'), ['-c', asked])).stdout.trim();
}

async function kept(name: string, pins: readonly string[], build: (folder: string) => Promise<void>): Promise<string> {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`);
  for (const pin of pins) hash.update(pin);
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'weir', 'clients', `${name}-${hash.digest('hex').slice(0, 16)}`);
  const whole = join(folder, '.complete');
  if (existsSync(whole)) return folder;
  const lock = await takeLock(`${folder}.lock`, () => console.log(`clients: another process installs ${folder}`));
  try {
    if (existsSync(whole)) return folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    console.log(`clients: installing what comes from ${name}`);
    await build(folder);
    writeFileSync(whole, '');
    return folder;
  } finally {
    lock.release();
  }
}

/** Scripts of packages are not run: they fetch programs from elsewhere than the registry. */
async function npm(folder: string, parameters: readonly string[]): Promise<void> {
  await run('npm', [...parameters, '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, timeout: limitMs });
}

async function makeEnvironment(folder: string): Promise<void> {
  await run(await findPython(), ['-m', 'venv', folder], { timeout: limitMs });
}

async function pip(folder: string, parameters: readonly string[]): Promise<void> {
  const common = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
  await run(join(folder, 'bin', 'python'), [...common, ...parameters], { timeout: limitMs });
}

/** Debian cuts what makes virtual environments off from its Python. */
export async function findPython(): Promise<string> {
  const program = await findOrInstall({ program: 'python3', package: 'python3' });
  const canMakeThem = await run(program, ['-c', 'import ensurepip, venv']).then(
    () => true,
    () => false,
  );
  if (!canMakeThem) await installDebianPackage('python3-venv');
  return program;
}
