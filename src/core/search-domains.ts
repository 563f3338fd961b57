import type { SearchDomains } from './web-search.ts';

interface Site {
  readonly host: string;
  /** Begins with a slash; empty for the whole site. */
  readonly path: string;
}

/**
 * Reads the name of a site as callers write it: `example.com`, `docs.example.com/api`, `example.com/*`. Undefined when
 * it is no host with perhaps a path: a scheme, a port and a star elsewhere are not allowed.
 */
function readSite(name: string): Site | undefined {
  const match = /^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)(\/[^\s*]*)?\*?$/i.exec(name);
  if (match === null || (name.endsWith('*') && match[2] === undefined)) return undefined;
  return { host: (match[1] ?? '').toLowerCase(), path: match[2] === '/' ? '' : (match[2] ?? '') };
}

/** Whether a caller may name a site like this. */
export function isSite(name: string): boolean {
  return readSite(name) !== undefined;
}

function holds({ host, path }: Site, url: URL): boolean {
  const own = url.hostname.toLowerCase();
  if (own !== host && !own.endsWith(`.${host}`)) return false;
  // A path is a prefix of whole segments: `/blog` is not `/blogger`.
  return url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

/** The pages that a request allows: http and https ones of the sites it names, or of all others. */
export function pageFilter(domains: SearchDomains | undefined): (url: string) => boolean {
  const sites = (domains?.names ?? []).flatMap((name) => readSite(name) ?? []);
  return (text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) return false;
    if (domains === undefined) return true;
    return sites.some((site) => holds(site, url)) === (domains.kind === 'allowed');
  };
}
