import type { Headers } from '../../core/exchange.ts';
import type { SearchDomains, SearchHit, SearchQuery } from '../../core/web-search.ts';

/** Longest query with its operators, characters and words: what Brave takes, and more than others care for. */
const maxCharacters = 400;
const maxWords = 50;

/**
 * A query with the sites it is limited to, in the words that search engines share: `(site:a.example OR site:b.example)`,
 * `-site:c.example`. As many as there is room for: whoever asks filters what comes back, too.
 */
export function withSites(query: string, domains: SearchDomains | undefined): string {
  if (domains === undefined) return query;
  const sites = domains.names.map((name) => name.replace(/\/?\*$/, ''));
  for (let count = sites.length; count > 0; count -= 1) {
    const some = sites.slice(0, count);
    // All of the allowed or none: the first few alone would hide what the others have.
    if (domains.kind === 'allowed' && count < sites.length) break;
    const text = domains.kind === 'allowed' ? allowed(some) : some.map((site) => `-site:${site}`).join(' ');
    const whole = `${query} ${text}`;
    if (whole.length <= maxCharacters && whole.split(' ').length <= maxWords) return whole;
  }
  return query;
}

function allowed(sites: readonly string[]): string {
  const terms = sites.map((site) => `site:${site}`);
  return terms.length === 1 ? (terms[0] ?? '') : `(${terms.join(' OR ')})`;
}

/** What is sent to a provider. */
export interface SearchCall {
  readonly method: 'GET' | 'POST';
  /** With the query, if any. */
  readonly path: string;
  readonly contentType?: string;
  readonly headers?: Headers;
  readonly authorization?: string;
  readonly body: string;
}

/** A provider's API: how a search is written for it, and its answer read. Pure. */
export interface SearchApi {
  readonly name: string;
  readonly url: URL;
  /** `key` is empty where the provider takes none. */
  readonly write: (query: SearchQuery, key: string) => SearchCall;
  /** Hits of an answer, which is parsed JSON; undefined when it is not one of this provider's, or says that it could not search. */
  readonly read: (value: unknown) => readonly SearchHit[] | undefined;
}
