import { readManifests } from '../../manifests/read.ts';
import { compile, type Compilation } from '../../catalog/compile.ts';

/** Reads and compiles a manifest folder once. Never throws; a missing or empty folder is a problem that names it. */
export async function checkManifests(dir: string): Promise<Pick<Compilation, 'snapshot' | 'problems'>> {
  const { objects, problems } = await readManifests(dir);
  const { snapshot, problems: found } = compile(objects);
  const isEmpty = objects.length + problems.length === 0;
  const empty = {
    where: dir,
    field: '',
    message: 'expected manifests: files ending in .yaml, .yml or .json with objects in them',
  };
  return { snapshot, problems: [...problems, ...found, ...(isEmpty ? [empty] : [])] };
}
