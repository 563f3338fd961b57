import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

interface Wanted {
  /** What prints its version. */
  readonly ask: readonly string[];
  /** The oldest that will do, and the first major version that is no longer known to. */
  readonly oldest: readonly [major: number, minor: number];
  readonly belowMajor?: number;
}

// Selectable fields of custom resources are there from 1.32, watches that begin with a list need etcd 3.5.
const kubernetes = { oldest: [1, 32] } as const;

const wanted = {
  'kube-apiserver': { ask: ['--version'], ...kubernetes },
  etcd: { ask: ['--version'], oldest: [3, 5] },
  kubectl: { ask: ['version', '--client'], ...kubernetes },
  helm: { ask: ['version', '--short'], oldest: [3, 14], belowMajor: 4 },
  kubeconform: { ask: ['-v'], oldest: [0, 6] },
} as const satisfies Readonly<Record<string, Wanted>>;

export type KubeTool = keyof typeof wanted;
export const kubeTools = Object.keys(wanted) as readonly KubeTool[];

export const buildScript = join(import.meta.dirname, '..', 'tools', 'build.sh');

const found = new Map<KubeTool, string>();

/**
 * The path of a program: from the folder that KUBEBUILDER_ASSETS names or from PATH where it is there and neither too
 * old nor too new, else the one that test/kube/tools/build.sh made. Throws when there is none.
 */
export function kubeTool(tool: KubeTool): string {
  const path = found.get(tool) ?? findKubeTool(tool);
  if (path === undefined) throw new Error(`${tool} is not there: \`npm run test:kube\` or ${buildScript} builds it`);
  found.set(tool, path);
  return path;
}

/** The same, undefined where it must be built first. */
export function findKubeTool(tool: KubeTool): string | undefined {
  const folders = [process.env['KUBEBUILDER_ASSETS'], ...(process.env['PATH'] ?? '').split(delimiter)];
  const theirs = folders.map((folder) => folder && join(folder, tool)).find((path) => path && isRunnable(path));
  if (theirs && isAcceptable(theirs, wanted[tool])) return theirs;
  const ours = join(spawnSync(buildScript, ['--where'], { encoding: 'utf8' }).stdout.trim(), tool);
  return isRunnable(ours) ? ours : undefined;
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isAcceptable(path: string, { ask, oldest, belowMajor = Infinity }: Wanted): boolean {
  const { stdout } = spawnSync(path, ask, { encoding: 'utf8', timeout: 20_000 });
  const [, major = '', minor = ''] = /(\d+)\.(\d+)\.\d+/.exec(stdout ?? '') ?? [];
  if (major === '' || Number(major) >= belowMajor) return false;
  return Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]);
}
