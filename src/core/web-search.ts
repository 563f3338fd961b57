/** Name of the server tool, and of the function tool that stands for it before the model. */
export const webSearchName = 'web_search';

/** Where the caller's user is, as far as the caller says. */
export interface UserLocation {
  readonly city?: string | undefined;
  readonly region?: string | undefined;
  /** ISO 3166-1, two letters, uppercase. */
  readonly country?: string | undefined;
  /** IANA name: `Europe/Zurich`. */
  readonly timezone?: string | undefined;
}

/** Which sites may be found. `example.com` is its subdomains too; `example.com/blog` only what is below that path. */
export interface SearchDomains {
  readonly kind: 'allowed' | 'blocked';
  readonly names: readonly string[];
}

/** What a request says of its web search. */
export interface WebSearchAsk {
  /** Most searches in one response. Absent: as many as the service allows. */
  readonly maxUses?: number | undefined;
  readonly domains?: SearchDomains | undefined;
  readonly location?: UserLocation | undefined;
}

/** A page as a search found it, opened. */
export interface Source {
  /** Its number in the conversation, from 1: what the model cites it by. */
  readonly number: number;
  readonly url: string;
  readonly title: string;
  readonly text: string;
  /** As the provider words it: `3 days ago`, `2026-01-31`. */
  readonly pageAge?: string | undefined;
}

/** A source as the caller gets it and sends it back: `sealed` holds all of it, and only this deployment can open it. */
export interface SealedSource {
  readonly url: string;
  readonly title: string;
  readonly sealed: string;
  readonly pageAge?: string | undefined;
}

/** Why a search brought nothing. These are part of a good answer, in the messages format's words (docs/reference/engines.md §2). */
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
  /** Nothing found is an empty list. */
  | { readonly kind: 'found'; readonly sources: readonly SealedSource[] }
  | { readonly kind: 'error'; readonly code: SearchError };

/** That a piece of text stands on a source. */
export interface Citation {
  readonly url: string;
  readonly title: string;
  /** A piece of the source, at most `maxCitedText` characters. */
  readonly citedText: string;
  /** Which source it is, sealed. */
  readonly sealed: string;
}

/** Longest `citedText`, UTF-16 units. */
export const maxCitedText = 150;

/**
 * Seals what a caller keeps for us between turns, so that nothing is stored here. What is opened is what was sealed: a
 * token that was made up, changed, or sealed for another deployment or purpose does not open.
 */
export interface SearchSeal {
  readonly sealSource: (source: Source) => string;
  readonly openSource: (token: string) => Source | undefined;
  /** For a citation: the number of its source. */
  readonly sealNumber: (number: number) => string;
  readonly openNumber: (token: string) => number | undefined;
}
