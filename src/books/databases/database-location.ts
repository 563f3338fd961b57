import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refusal } from '../core/operator-refusals.ts';
import type { DatabaseLocation } from './database.ts';
import { urlPerHost } from './postgres-hosts.ts';

const defaultFolder = '.weir';

const malformed = (reason: string): Error => refusal('database_url_malformed', { reason });

/**
 * Where the accounts are: `weir.db` in the folder of `--data`, else what WEIR_DATABASE_URL names, else `.weir/weir.db`.
 * Throws a sentence when the URL names no database that Weir can use. The URL itself may hold a password and is never repeated.
 */
export function databaseLocation(from: {
  readonly data?: string | undefined;
  readonly url?: string | undefined;
}): DatabaseLocation {
  const { data, url } = from;
  if (data !== undefined) return sqlite(join(resolve(data), 'weir.db'));
  if (url === undefined || url === '') return sqlite(join(resolve(defaultFolder), 'weir.db'));
  if (url.startsWith('file:')) return sqlite(fileURLToPath(url));
  const [, scheme, rest] = /^([A-Za-z][A-Za-z0-9+.-]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case undefined:
      return sqlite(resolve(url));
    case 'sqlite':
      return sqlite(sqlitePath(rest ?? ''));
    case 'postgres':
    case 'postgresql':
      if (urlPerHost(url).every((one) => URL.canParse(one))) return postgres(url);
      throw malformed('is not a URL; PostgreSQL is named as postgres://USER:PASSWORD@HOST:PORT/NAME.');
    default:
      throw malformed(`begins with "${scheme}:", which Weir does not know; give it postgres://… or sqlite:PATH.`);
  }
}

/** Weir writes, so it can use no server that only reads. */
function postgres(url: string): DatabaseLocation {
  const wanted = /[?&]target_session_attrs=([\w-]+)/.exec(url)?.[1] ?? 'read-write';
  if (['any', 'read-write', 'primary'].includes(wanted)) return { kind: 'postgres', url };
  throw malformed(`has target_session_attrs=${wanted}, but Weir has to write; give it read-write, or leave it out.`);
}

function sqlite(file: string): DatabaseLocation {
  return { kind: 'sqlite', file };
}

/** Reads `sqlite:weir.db`, `sqlite:/var/weir.db`, and `sqlite:///var/weir.db`, the form of other programs. */
function sqlitePath(rest: string): string {
  const path = rest.replace(/^\/\//, '');
  if (path === '') throw malformed('names no file after "sqlite:".');
  return resolve(path);
}
