import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder in which an installed program of this version is kept between checkouts: in the user's cache folder, else, for a user without
 * a home to write to, beside the dependencies. The folder exists.
 */
export function programCache(env: Readonly<Record<string, string | undefined>>, name: string, version: string): string {
  // The XDG specification requires that a relative path is ignored.
  const configured = env['XDG_CACHE_HOME'] ?? '';
  const cache = isAbsolute(configured) ? configured : join(env['HOME'] || homedir(), '.cache');
  const parts = ['weir', name, version, `${process.platform}-${process.arch}`];
  const folder = join(cache, ...parts);
  if (isWritable(folder)) return folder;
  return join(fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url)), ...parts);
}

function isWritable(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
