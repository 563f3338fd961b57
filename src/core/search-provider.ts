import type { SearchDomains, SearchError, UserLocation } from './web-search.ts';

/** One search, as a provider is asked for it. */
export interface SearchQuery {
  readonly query: string;
  readonly domains?: SearchDomains | undefined;
  readonly location?: UserLocation | undefined;
}

/** A page that a provider found. What is in it was written by strangers. */
export interface SearchHit {
  readonly url: string;
  readonly title: string;
  readonly text: string;
  readonly pageAge?: string | undefined;
}

export type SearchFinding =
  | { readonly kind: 'found'; readonly hits: readonly SearchHit[] }
  /** `detail` is safe to log: never the query, nor anything that was found. */
  | { readonly kind: 'error'; readonly code: SearchError; readonly detail: string };

/** Somebody who searches the web for us. */
export interface SearchProvider {
  readonly name: string;
  /** Never rejects. Hits are of allowed sites only. Ends early, with an error, when the signal aborts. */
  readonly search: (query: SearchQuery, signal: AbortSignal) => Promise<SearchFinding>;
}
