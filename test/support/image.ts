import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');

/** What the Dockerfile would put into `/app`, in a folder that nobody may write, root's rights aside. */
export interface Image {
  /** Stands for `/app`. */
  readonly app: string;
  /** Every instruction of the Dockerfile, lines joined. */
  readonly instructions: readonly string[];
  readonly remove: () => void;
}

export function dockerInstructions(): readonly string[] {
  return readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

/**
 * Follows the Dockerfile in a temporary folder as far as files go, with this machine's Node and npm: each stage's COPY
 * from what .dockerignore lets through, and the RUN that begins with `npm`. Takes some seconds, and the packages from npm's cache or registry.
 */
export async function makeImage(): Promise<Image> {
  const instructions = dockerInstructions();
  const folder = mkdtempSync(join(tmpdir(), 'weir-image-'));
  const stages = new Map<string, string>();
  let app = '';
  for (const instruction of instructions) {
    const [word = '', ...rest] = instruction.split(/\s+/);
    if (word === 'FROM') {
      app = join(folder, rest.at(-2) === 'AS' ? (rest.at(-1) ?? '') : 'last', 'app');
      mkdirSync(app, { recursive: true });
      if (rest.at(-2) === 'AS') stages.set(rest.at(-1) ?? '', dirname(app));
    } else if (word === 'COPY') copy(rest, { app, stages });
    else if (word === 'RUN' && rest[0] === 'npm') {
      const env = { ...process.env, npm_config_prefer_offline: 'true', npm_config_audit: 'false' };
      await promisify(execFile)('sh', ['-c', instruction.slice(word.length)], { cwd: app, env });
    }
  }
  forEach(app, (path) => chmodSync(path, statSync(path).mode & 0o555));
  chmodSync(folder, 0o755);
  return {
    app,
    instructions,
    remove: () => {
      forEach(app, (path) => chmodSync(path, statSync(path).mode | 0o200));
      rmSync(folder, { recursive: true });
    },
  };
}

/** `COPY a b ./`: files into the folder. `COPY a ./a`: a folder becomes that folder. */
function copy(
  words: readonly string[],
  at: { readonly app: string; readonly stages: ReadonlyMap<string, string> },
): void {
  const from = words[0]?.startsWith('--from=') === true ? at.stages.get(words[0].slice('--from='.length)) : undefined;
  const [target = '', ...sources] = words.filter((word) => !word.startsWith('--')).toReversed();
  const isSent = (path: string): boolean => from !== undefined || isInContext(relative(root, path));
  for (const source of sources) {
    const path = join(from ?? root, source);
    const into = statSync(path).isDirectory() ? join(at.app, target) : join(at.app, target, basename(source));
    cpSync(path, into, { recursive: true, filter: isSent, verbatimSymlinks: true });
  }
}

/** As .dockerignore has it: the last pattern that fits decides; one that fits a folder fits all in it. */
function isInContext(path: string): boolean {
  const patterns = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const folders = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
  let isLeftOut = false;
  for (const pattern of patterns) {
    const isBack = pattern.startsWith('!');
    const glob = isBack ? pattern.slice(1) : pattern;
    // The folder above something that is let through is entered.
    if (folders.some((part) => matchesGlob(part, glob)) || (isBack && glob.startsWith(`${path}/`))) isLeftOut = !isBack;
  }
  return !isLeftOut;
}

function forEach(folder: string, act: (path: string) => void): void {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => !entry.isSymbolicLink(),
  );
  for (const entry of entries) act(join(entry.parentPath, entry.name));
  act(folder);
}
