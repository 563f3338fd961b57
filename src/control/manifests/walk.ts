import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CatalogProblem } from '../../core/catalog.ts';

export interface Walk {
  /** False when the folder itself cannot be read: then its content is unknown. */
  readonly found: boolean;
  /** Manifest files, relative to the folder, in the order of their paths. */
  readonly files: readonly string[];
  /** Files and folders that are there but cannot be read, relative to the folder. */
  readonly unreadable: readonly string[];
  /** Real paths of the folders that must be watched for changes: the folders that were read, and those that links lead into. */
  readonly places: readonly string[];
  readonly problems: readonly CatalogProblem[];
}

const maxDepth = 16;
const maxFiles = 10_000;
const manifestName = /\.(ya?ml|json)$/;

/**
 * Finds the manifest files of a folder and its sub-folders; never throws. Names that begin with a dot are skipped: in a
 * mounted ConfigMap they contain the same files again, elsewhere they belong to editors.
 */
export async function walk(dir: string): Promise<Walk> {
  const files: string[] = [];
  const unreadable: string[] = [];
  const problems: CatalogProblem[] = [];
  const entered = new Set<string>();
  const linked = new Set<string>();

  async function enter(folder: string, depth: number): Promise<boolean> {
    try {
      const real = await realpath(join(dir, folder));
      // A link back to a folder above would never end.
      if (entered.has(real)) return true;
      const entries = await readdir(real, { withFileTypes: true });
      entered.add(real);
      for (const entry of entries)
        if (!entry.name.startsWith('.')) await look(join(folder, entry.name), { entry, depth });
      return true;
    } catch {
      return false;
    }
  }

  async function look(
    path: string,
    { entry, depth }: { readonly entry: Dirent; readonly depth: number },
  ): Promise<void> {
    const isLink = entry.isSymbolicLink();
    const kind = isLink ? await kindOf(join(dir, path)) : entry;
    if (kind === 'gone') return;
    if (kind !== 'unreadable' && kind.isDirectory()) {
      if (depth >= maxDepth) reportAt(path, `expected at most ${maxDepth} levels of folders`);
      else if (!(await enter(path, depth + 1))) hide(path);
    } else if (manifestName.test(path)) {
      if (kind === 'unreadable') hide(path);
      else if (kind.isFile()) files.push(path);
      if (isLink) linked.add(await targetFolder(join(dir, path)));
    }
  }

  function hide(path: string): void {
    unreadable.push(path);
    reportAt(path, 'expected something readable: check its permissions and where it links to');
  }

  function reportAt(where: string, message: string): void {
    problems.push({ where, field: '', message });
  }

  const found = await enter('', 0);
  if (!found) reportAt(dir, 'expected a readable folder');
  if (files.length > maxFiles) reportAt(dir, `expected at most ${maxFiles} manifest files`);
  files.sort();
  const places = [...new Set([...entered, ...linked])].sort();
  return { found, files: files.slice(0, maxFiles), unreadable, places, problems };
}

type Kind = Pick<Dirent, 'isDirectory' | 'isFile'> | 'unreadable' | 'gone';

async function kindOf(path: string): Promise<Kind> {
  try {
    return await stat(path);
  } catch {
    // Removed since its folder was listed, or a link that leads nowhere. Only the second is a problem.
    return lstat(path).then(
      () => 'unreadable',
      () => 'gone',
    );
  }
}

function targetFolder(path: string): Promise<string> {
  return realpath(path).then(dirname, () => dirname(path));
}
