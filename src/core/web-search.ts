/** Name of the server tool, and of the function tool that the model gets in its place. */
export const webSearchName = 'web_search';

/** Where the caller's user is, if the caller says so. */
export interface UserLocation {
  readonly city?: string | undefined;
  readonly region?: string | undefined;
  /** ISO 3166-1, two letters, uppercase. */
  readonly country?: string | undefined;
  /** IANA name: `Europe/Zurich`. */
  readonly timezone?: string | undefined;
}

/**
 * The sites that may be found, or that must not be. `example.com` includes its subdomains; `example.com/blog` includes
 * only the pages below that path.
 */
export interface SearchDomains {
  readonly kind: 'allowed' | 'blocked';
  readonly names: readonly string[];
}

export interface WebSearchAsk {
  /** Most searches in one response. Absent: the service's own limit. */
  readonly maxUses?: number | undefined;
  readonly domains?: SearchDomains | undefined;
  readonly location?: UserLocation | undefined;
}

/** A page that a provider found. Its content is untrusted. */
export interface SearchHit {
  readonly url: string;
  readonly title: string;
  readonly text: string;
  /** Age of the page in the provider's words: `3 days ago`, `2026-01-31`. */
  readonly pageAge?: string | undefined;
}

/** A page that a search found, with its text unsealed. */
export interface Source extends SearchHit {
  /** Number of the source in the conversation, from 1. The model cites sources by their numbers. */
  readonly number: number;
}

/**
 * A source in the form that the caller gets and sends back. `sealed` holds the whole source, and only this deployment
 * can open it.
 */
interface SealedSource extends Omit<SearchHit, 'text'> {
  readonly sealed: string;
}

/**
 * Why a search failed. A successful answer can contain these codes, in the messages format's words
 * (docs/reference/engines.md §2).
 */
export const searchErrors = [
  'invalid_tool_input',
  'unavailable',
  'max_uses_exceeded',
  'too_many_requests',
  'query_too_long',
  'request_too_large',
] as const;
export type SearchError = (typeof searchErrors)[number];

export type SearchResult =
  /** `sources` is empty if nothing was found. */
  | { readonly kind: 'found'; readonly sources: readonly SealedSource[] }
  | { readonly kind: 'error'; readonly code: SearchError };

/** A source that supports a piece of text. */
export interface Citation extends Pick<SearchHit, 'url' | 'title'> {
  /** A piece of the source, at most `maxCitedText` characters. */
  readonly citedText: string;
  /** The sealed number of the source. */
  readonly sealed: string;
}

/** Longest `citedText`, UTF-16 units. */
export const maxCitedText = 150;

/** Tells a token that was damaged on the way from one of another deployment, which is left out. */
export interface SealOrigin {
  /** Whether the token names a key of this deployment, although it may not open. */
  readonly isOurs: (token: string) => boolean;
}

/**
 * Seals data that a caller keeps for us between turns, so that nothing is stored here. Only unchanged data opens: a
 * token that was made up, changed, or sealed for another deployment or purpose does not.
 */
export interface SearchSeal extends SealOrigin {
  readonly sealSource: (source: Source) => string;
  readonly openSource: (token: string) => Source | undefined;
  /** Seals the number of a source, for a citation. */
  readonly sealNumber: (number: number) => string;
  readonly openNumber: (token: string) => number | undefined;
}

/** Seals a model's reasoning in the same way, for callers that keep it for us without reading it. */
export interface TraceSeal extends SealOrigin {
  readonly sealTrace: (text: string) => string;
  readonly openTrace: (token: string) => string | undefined;
}

/** The files of the keys that seal search results and reasoning. */
export interface SealFiles {
  /** Undefined: no file was named. */
  readonly keyFile: string | undefined;
  /** Where a key is made and stored if no file was named. */
  readonly ownFile: string;
}

/** One search, in the form that a provider gets. */
export interface SearchQuery extends Pick<WebSearchAsk, 'domains' | 'location'> {
  readonly query: string;
  /** The parent span of the provider's calls. See `UpstreamCall.traceparent`. */
  readonly traceparent?: string | undefined;
}

export type SearchFinding =
  | { readonly kind: 'found'; readonly hits: readonly SearchHit[] }
  /** `detail` is safe to log: never the query, nor anything that was found. */
  | { readonly kind: 'error'; readonly code: SearchError; readonly detail: string };

export interface SearchProvider {
  readonly name: string;
  /** Never rejects. Hits are only of allowed sites. Ends early, with an error, when the signal aborts. */
  readonly search: (query: SearchQuery, signal: AbortSignal) => Promise<SearchFinding>;
}

/** Providers with an address of their own that need a key. */
const keyedProviders = ['brave', 'tavily'] as const;
export type KeyedProvider = (typeof keyedProviders)[number];

/** Which provider searches the web, as `WEIR_WEB_SEARCH` names it. */
export type SearchSetting =
  | { readonly provider: 'searxng'; readonly url: URL }
  | { readonly provider: KeyedProvider; readonly keyFile: string };

/** The forms of the setting. */
export const searchForms = `searxng:URL or ${keyedProviders.map((name) => `${name}:KEYFILE`).join(' or ')}`;

/**
 * Reads the setting. Undefined when it has none of its forms. The URL of a SearXNG instance must have neither
 * credentials nor a query.
 */
export function readSearchSetting(text: string): SearchSetting | undefined {
  const [, provider, value = ''] = /^(\w+):(.+)$/s.exec(text) ?? [];
  const keyed = keyedProviders.find((name) => name === provider);
  if (keyed !== undefined) return { provider: keyed, keyFile: value };
  if (provider !== 'searxng') return undefined;
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
    ? { provider, url }
    : undefined;
}

interface Site {
  readonly host: string;
  /** Begins with a slash; empty for the whole site. */
  readonly path: string;
}

/**
 * Reads the name of a site as callers write it: `example.com`, `docs.example.com/api`, `example.com/*`. Undefined
 * unless it is a host, or a host with a path: a scheme, a port and a star elsewhere are not allowed.
 */
function readSite(name: string): Site | undefined {
  const match = /^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+)(\/[^\s*]*)?\*?$/i.exec(name);
  if (match === null || (name.endsWith('*') && match[2] === undefined)) return undefined;
  return { host: (match[1] ?? '').toLowerCase(), path: match[2] === '/' ? '' : (match[2] ?? '') };
}

/** Whether a caller may name a site in this way. */
export function isSite(name: string): boolean {
  return readSite(name) !== undefined;
}

function holds({ host, path }: Site, url: URL): boolean {
  const own = url.hostname.toLowerCase();
  if (own !== host && !own.endsWith(`.${host}`)) return false;
  // A path is a prefix of whole segments: `/blog` is not `/blogger`.
  return url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

/** The http and https pages that a request allows: pages of the allowed sites, or all pages that are not of the blocked sites. */
export function pageFilter(domains: SearchDomains | undefined): (url: string) => boolean {
  const sites = (domains?.names ?? []).flatMap((name) => readSite(name) ?? []);
  return (text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) return false;
    if (domains === undefined) return true;
    return sites.some((site) => holds(site, url)) === (domains.kind === 'allowed');
  };
}
