import type { Headers } from '../../core/exchange.ts';
import type { SearchHit, SearchQuery } from '../../core/web-search.ts';

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
