import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const defaultFolder = '.weir';

/**
 * The path of the SQLite file: `weir.db` in the folder of `--data`, else what WEIR_DATABASE_URL names, else `.weir/weir.db`.
 * Throws a sentence when the URL names a database that Weir cannot use. The URL itself may hold a password and is never repeated.
 */
export function databaseFile(from: { readonly data?: string | undefined; readonly url?: string | undefined }): string {
  const { data, url } = from;
  if (data !== undefined) return join(resolve(data), 'weir.db');
  if (url === undefined || url === '') return join(resolve(defaultFolder), 'weir.db');
  if (url.startsWith('file:')) return fileURLToPath(url);
  const [, scheme, rest] = /^([A-Za-z][A-Za-z0-9+.-]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case undefined:
      return resolve(url);
    case 'sqlite':
      return sqlitePath(rest ?? '');
    case 'postgres':
    case 'postgresql':
      throw new Error('WEIR_DATABASE_URL names a PostgreSQL database, which Weir cannot use; give it sqlite:PATH.');
    default:
      throw new Error(`WEIR_DATABASE_URL begins with "${scheme}:", which Weir does not know; give it sqlite:PATH.`);
  }
}

/** `sqlite:weir.db`, `sqlite:/var/weir.db` and, as others write it, `sqlite:///var/weir.db`. */
function sqlitePath(rest: string): string {
  const path = rest.replace(/^\/\//, '');
  if (path === '') throw new Error('WEIR_DATABASE_URL names no file after "sqlite:".');
  return resolve(path);
}
