import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');

/** What the Dockerfile would put into `/app`, in a folder that only root may write. */
export interface Image {
  /** Stands for `/app`. */
  readonly app: string;
  /** Every instruction of the Dockerfile, lines joined. */
  readonly instructions: readonly string[];
}

export function dockerInstructions(): readonly string[] {
  return readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

const pollMs = 100;

/**
 * The image of this run in a folder that was given to all its files (`image-for-suite.ts`): the first file makes it, the others wait
 * until it is there. Nobody may change it. Rejects for all of them when it cannot be made.
 */
export async function imageIn(folder: string): Promise<Image> {
  const made = join(folder, 'made');
  const failed = join(folder, 'failed');
  try {
    mkdirSync(folder, { mode: 0o755 });
  } catch {
    while (!existsSync(made) && !existsSync(failed)) await sleep(pollMs);
    if (existsSync(failed)) throw new Error(`the image could not be made: ${readFileSync(failed, 'utf8')}`);
    return { app: join(folder, 'last', 'app'), instructions: dockerInstructions() };
  }
  try {
    const image = await makeImage(folder);
    writeFileSync(made, '');
    return image;
  } catch (error) {
    writeFileSync(failed, String(error));
    throw error;
  }
}

/** Removes what `imageIn` has made there, if anything. */
export function removeImage(folder: string): void {
  const app = join(folder, 'last', 'app');
  if (existsSync(app)) forEach(app, (path) => chmodSync(path, statSync(path).mode | 0o200));
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Follows the Dockerfile in a folder as far as files go, with this machine's Node and npm: each stage's COPY from what .dockerignore lets
 * through, and the RUN that begins with `npm`. Takes half a minute of processor time, and the packages from npm's cache or registry.
 */
async function makeImage(folder: string): Promise<Image> {
  const instructions = dockerInstructions();
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
  return { app, instructions };
}

/** `COPY a b ./`: files into the folder. `COPY a ./a`: a folder becomes that folder. */
function copy(
  words: readonly string[],
  at: { readonly app: string; readonly stages: ReadonlyMap<string, string> },
): void {
  const from = words[0]?.startsWith('--from=') === true ? at.stages.get(words[0].slice('--from='.length)) : undefined;
  const [target = '', ...sources] = words.filter((word) => !word.startsWith('--')).toReversed();
  const isSent = (path: string): boolean => isInContext(relative(root, path));
  for (const source of sources) {
    const path = join(from ?? root, source);
    const into = statSync(path).isDirectory() ? join(at.app, target) : join(at.app, target, basename(source));
    // What an earlier stage has made is copied once: here it is moved, which is done at once.
    if (from === undefined) cpSync(path, into, { recursive: true, filter: isSent, verbatimSymlinks: true });
    else {
      mkdirSync(dirname(into), { recursive: true });
      renameSync(path, into);
    }
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
